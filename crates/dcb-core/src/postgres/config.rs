use postgres_store::{ServerConfig, embed_server_config};

use crate::{Lanes, Limits, ProjectionLimit};

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
    /// Maximum size in bytes of what the store keeps of boundaries on which it has decided, so that
    /// the next decision on one of them reads nothing; see [decisions](crate::cost). 0 keeps nothing.
    /// Default: [`Lanes::DEFAULT_CACHE_BYTES`], 64 MiB.
    pub lane_cache_bytes: usize,
}

impl Config {
    /// The defaults, for the database at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            server: ServerConfig::new(url, "dcb", "dcb-core"),
            limits: Limits::default(),
            max_concurrent_projections: ProjectionLimit::DEFAULT_MAX,
            lane_cache_bytes: Lanes::DEFAULT_CACHE_BYTES,
        }
    }
}

embed_server_config!(Config);
