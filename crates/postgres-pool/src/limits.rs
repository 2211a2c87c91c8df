use std::time::Duration;

/// How many connections a [`Pool`](crate::Pool) has, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most that are open at once; at least 1.
    pub connections: u32,
    /// How long a borrower waits, for its turn and for the server together; and the pool for the
    /// answer of a connection that was dropped.
    pub wait: Duration,
    /// A connection that nobody has needed for so long is closed when another comes back.
    pub idle: Duration,
    /// A connection that is older is replaced when it is asked for.
    pub age: Duration,
}

impl Limits {
    /// So many connections, for which a borrower waits so long; closed after 10 minutes without
    /// use, and at an age of 30.
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
