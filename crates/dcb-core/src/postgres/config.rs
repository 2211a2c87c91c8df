use std::time::Duration;

use crate::{Limits, ProjectionLimit};

/// How to connect to a log in PostgreSQL, and within which bounds it works.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// `postgres://user:password@host:port/database`.
    pub url: String,
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
    /// The most connections that reads use at once; the writer has one of its own. Default: 8.
    pub read_connections: u32,
    /// The most projections that run at once; more are refused. Default: 100.
    pub max_concurrent_projections: usize,
}

impl Config {
    /// The defaults, for the database at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
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

    /// The log in this schema.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }
}
