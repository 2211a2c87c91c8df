use std::fmt;
use std::time::Duration;

use crate::Limits;
use crate::time::LONGEST_WAIT;

/// How to connect to a store in PostgreSQL, and within which bounds it works.
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// `postgres://user:password@host:port/database`.
    pub url: String,
    /// A streaming replica of that database, from which streams and categories are read. `None`
    /// reads from the database itself. What was just written may be missing there for a moment:
    /// see [`PostgresStore::wait_for`](super::PostgresStore::wait_for). All messages, as opposed
    /// to a category, are read from the database itself, because only there it is known which
    /// writes are under way; so are the messages of a group's member, which passes what others read
    /// up to the head, and checkpoints.
    pub replica_url: Option<String>,
    /// The schema that holds the store: as many as you like in one database. Clients of Message DB
    /// expect the default: `message_store`. 1 to 63 letters, digits and underscores.
    pub schema: String,
    /// How large a write may be.
    pub limits: Limits,
    /// The most writes that one commit takes. Default: 512.
    pub max_batch_requests: usize,
    /// The most bytes of messages that one commit takes; one write that is larger goes alone.
    /// Default: 1 MiB.
    pub max_batch_bytes: usize,
    /// The most writes that wait for a commit; who comes then waits for room. Default: 8,192.
    pub max_queued_requests: usize,
    /// The most bytes of messages that wait for a commit. Default: 16 MiB.
    pub max_queued_bytes: usize,
    /// How long a write may take, waiting included. Default: 5 s.
    pub write_timeout: Duration,
    /// How long a read may take. Default: 10 s.
    pub read_timeout: Duration,
    /// The most connections that reads use at once, on the database and on the replica each. The
    /// writer has one of its own, two while another transaction holds the lock of a category, and
    /// subscribers have one for notifications. Default: 8.
    pub read_connections: u32,
    /// Whether other processes are notified of writes, once a commit. Without, their subscribers
    /// learn of them by polling. Default: true.
    pub notify: bool,
}

impl Config {
    /// The defaults, for the database at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            replica_url: None,
            schema: "message_store".to_owned(),
            limits: Limits::default(),
            max_batch_requests: 512,
            max_batch_bytes: 1 << 20,
            max_queued_requests: 8192,
            max_queued_bytes: 16 << 20,
            write_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(10),
            read_connections: 8,
            notify: true,
        }
    }

    /// The store in this schema.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Reads from this replica.
    #[must_use]
    pub fn replica_url(mut self, url: impl Into<String>) -> Self {
        self.replica_url = Some(url.into());
        self
    }

    /// As it is used: with limits that clocks and the server can bear.
    pub(super) fn settled(mut self) -> Self {
        self.write_timeout = self.write_timeout.min(LONGEST_WAIT);
        self.read_timeout = self.read_timeout.min(LONGEST_WAIT);
        self
    }

    pub(super) fn queue_limits(&self) -> group_commit::Limits {
        group_commit::Limits {
            max_batch_requests: self.max_batch_requests,
            max_batch_bytes: self.max_batch_bytes,
            max_queued_requests: self.max_queued_requests,
            max_queued_bytes: self.max_queued_bytes,
            ..group_commit::Limits::default()
        }
    }
}

/// Without the URLs, which hold passwords.
impl fmt::Debug for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Config")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}
