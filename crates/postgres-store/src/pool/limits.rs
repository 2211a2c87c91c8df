use std::time::Duration;

/// The limits of a [`Pool`](crate::Pool).
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of open connections; at least 1.
    pub connections: u32,
    /// Maximum total time that a borrower waits: first for its turn, then for the server. A
    /// connection whose lease was dropped must answer a ping within the same time.
    pub wait: Duration,
    /// Maximum idle time of a connection. A connection that exceeds it is closed when another
    /// connection comes back.
    pub idle: Duration,
    /// Maximum age of a connection. The pool replaces an older connection instead of lending it.
    pub age: Duration,
}

impl Limits {
    /// Limits with this number of connections and this wait, an idle time of 10 minutes, and an age
    /// of 30 minutes.
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
