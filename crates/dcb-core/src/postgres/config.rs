use std::fmt;
use std::ops::{Deref, DerefMut};

use postgres_store::ServerConfig;

use crate::{Limits, ProjectionLimit};

/// The settings of a log in PostgreSQL. Those of the server are read and set like own ones:
///
/// ```
/// use dcb_core::postgres::Config;
///
/// let mut config = Config::new("postgres://localhost/app").schema("orders");
/// config.read_connections = 16;
/// ```
///
/// Replicas: if an event that a decision depends on is missing from a replica, the primary refuses the
/// decision's append as a conflict. A read whose `after` is beyond the replica's head goes to the
/// primary. [`EventStore::wait_for`](crate::EventStore::wait_for) waits until reads see an append.
///
/// When all read connections are busy, waiting reads of at most 256 positions share statements, and
/// identical ones run once.
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// The server, the schema (default: `dcb`), batches, time limits and connections.
    pub server: ServerConfig,
    /// Limits on the size of an append.
    pub limits: Limits,
    /// Maximum number of concurrent projections per store. Excess calls fail immediately. Default:
    /// 100.
    pub max_concurrent_projections: usize,
}

impl Config {
    /// The defaults, for the database at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            server: ServerConfig::new(url, "dcb", "dcb-core"),
            limits: Limits::default(),
            max_concurrent_projections: ProjectionLimit::DEFAULT_MAX,
        }
    }

    /// Sets `replica_url`.
    #[must_use]
    pub fn replica_url(mut self, url: impl Into<String>) -> Self {
        self.server.replica_url = Some(url.into());
        self
    }

    /// Turns on `fail_fast`.
    #[must_use]
    pub fn fail_fast(mut self) -> Self {
        self.server.fail_fast = true;
        self
    }

    /// Turns on `transaction_pooling`.
    #[must_use]
    pub fn transaction_pooling(mut self) -> Self {
        self.server.transaction_pooling = true;
        self
    }

    /// Sets `schema`.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.server.schema = schema.into();
        self
    }
}

impl Deref for Config {
    type Target = ServerConfig;

    fn deref(&self) -> &ServerConfig {
        &self.server
    }
}

impl DerefMut for Config {
    fn deref_mut(&mut self) -> &mut ServerConfig {
        &mut self.server
    }
}

// By hand, to leave out the URLs: they contain passwords.
impl fmt::Debug for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Config")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}
