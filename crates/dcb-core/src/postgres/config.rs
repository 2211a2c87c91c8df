use std::fmt;
use std::time::Duration;

use crate::{Limits, ProjectionLimit};

/// How to connect to a log in PostgreSQL, and within which bounds it works.
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// `postgres://user:password@host:port/database`.
    pub url: String,
    /// A streaming replica of that database, for reads: they are as old as the replica is. A
    /// decision over an old state is refused as a conflict, never accepted; a read whose `after` the
    /// replica does not have yet goes to the primary; [`EventStore::wait_for`] waits until reads see
    /// what was written. Default: none.
    ///
    /// [`EventStore::wait_for`]: crate::EventStore::wait_for
    pub replica_url: Option<String>,
    /// Whether the URLs lead to a pooler that hands the server's session to another client after
    /// each transaction, as PgBouncer does with `pool_mode = transaction`. Then each statement has a
    /// transaction of its own (four round trips instead of one), nothing is prepared under a name,
    /// no session setting is made, and what other processes append is found by polling. Default:
    /// off.
    pub transaction_pooling: bool,
    /// The schema that holds the log's tables and functions: one log a schema, as many as you like
    /// in one database. 1 to 63 characters. Default: `dcb`.
    pub schema: String,
    /// How large an append may be.
    pub limits: Limits,
    /// The most appends that one commit takes. Default: 512.
    pub max_batch_requests: usize,
    /// The most bytes of events that one commit takes; one append that is larger goes alone.
    /// Default: 1 MiB.
    pub max_batch_bytes: usize,
    /// The most appends that wait for a commit; who comes then waits for room. Default: 8,192.
    pub max_queued_requests: usize,
    /// The most bytes of events that wait for a commit. Default: 16 MiB.
    pub max_queued_bytes: usize,
    /// How long an append may take, waiting included. Default: 5 s.
    pub append_timeout: Duration,
    /// How long a read may wait for the database. Default: 10 s.
    pub query_timeout: Duration,
    /// The most connections that reads use at once; the writer has one of its own. Of the reads that
    /// wait for one, those of no more than 256 positions share statements, and equal ones are read
    /// once. Default: 8.
    pub read_connections: u32,
    /// The most projections that run at once; more are refused. Default: 100.
    pub max_concurrent_projections: usize,
}

impl Config {
    /// The defaults, for the database at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            replica_url: None,
            transaction_pooling: false,
            schema: "dcb".to_owned(),
            limits: Limits::default(),
            max_batch_requests: 512,
            max_batch_bytes: 1 << 20,
            max_queued_requests: 8192,
            max_queued_bytes: 16 << 20,
            append_timeout: Duration::from_secs(5),
            query_timeout: Duration::from_secs(10),
            read_connections: 8,
            max_concurrent_projections: ProjectionLimit::DEFAULT_MAX,
        }
    }

    /// Reads from the replica at this URL.
    #[must_use]
    pub fn replica_url(mut self, url: impl Into<String>) -> Self {
        self.replica_url = Some(url.into());
        self
    }

    /// Works behind a pooler in transaction mode.
    #[must_use]
    pub fn transaction_pooling(mut self) -> Self {
        self.transaction_pooling = true;
        self
    }

    /// The log in this schema.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
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
