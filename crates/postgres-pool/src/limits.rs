use std::time::Duration;

/// The limits of a [`Pool`](crate::Pool).
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of open connections; at least 1.
    pub connections: u32,
    /// Maximum total time that a borrower waits: first for its turn, then for the server. Also the
    /// time within which a dropped connection must answer a ping.
    pub wait: Duration,
    /// Maximum idle time of a connection. The pool closes an older idle connection when another one
    /// comes back.
    pub idle: Duration,
    /// Maximum age of a connection. The pool replaces an older one instead of lending it.
    pub age: Duration,
}

impl Limits {
    /// Limits with this number of connections and this wait, an idle time of 10 minutes, and an age of
    /// 30 minutes.
    pub fn new(connections: u32, wait: Duration) -> Self {
        const MINUTE: Duration = Duration::from_secs(60);
        Self {
            connections: connections.max(1),
            wait,
            idle: MINUTE * 10,
            age: MINUTE * 30,
        }
    }
}
