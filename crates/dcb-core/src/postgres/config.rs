use std::fmt;
use std::time::Duration;

use crate::{Limits, ProjectionLimit};

/// The connection to a log in PostgreSQL, and the limits of the store.
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// `postgres://user:password@host:port/database`.
    ///
    /// With several hosts, `postgres://user:password@a:5432,b:5432/database`, the store finds the one
    /// that takes writes, and looks again when that one stops to. Parameters as in libpq: `host` and
    /// `port` with commas, `target_session_attrs` (`any`, `read-write` or `primary`) and
    /// `load_balance_hosts`. A host that is down costs a new connection a quarter of a second at most.
    /// A standby is refused until it is promoted, also if it is the only host: it may lag.
    /// Names are looked up at each new connection, and all addresses of a name are tried in turn.
    ///
    /// With the feature `tls`, the parameters `sslmode`, `sslrootcert`, `sslcert` and `sslkey` mean
    /// what they mean to libpq, with these differences: roots of the operating system are trusted
    /// beside those of `sslrootcert`, and no file of the home folder is read. A certificate that is
    /// not trusted, or a server that does not encrypt as demanded, is not a transient error.
    pub url: String,
    /// Streaming replicas of that database, for reads: a URL with one host or several. Reads use the
    /// hosts in turn; with `target_session_attrs=standby`, only those that are standbys. Reads see
    /// only what the replica has received. If an event that a decision depends on is missing from the replica, the primary
    /// refuses the decision's append as a conflict. A read whose `after` is beyond the replica's
    /// head goes to the primary. [`EventStore::wait_for`] waits until reads see an append. Default:
    /// none.
    ///
    /// A connection to each replica asks twice a second how far it is. If a replica does not answer
    /// within a second, its reads go on at the primary or another replica, and come back once it
    /// answers. The same happens if it lags by more than `max_replica_lag`.
    ///
    /// [`EventStore::wait_for`]: crate::EventStore::wait_for
    pub replica_url: Option<String>,
    /// The longest time that a replica may lag: the time since the primary had an event that the
    /// replica lacks. The store measures it by the heads of both, so an idle log has no lag. A replica
    /// is used once it has what the primary had when the store connected. Default: 10 s.
    pub max_replica_lag: Duration,
    /// Whether the URLs lead to a pooler that gives the server session to another client after each
    /// transaction, like PgBouncer with `pool_mode = transaction`. Then each statement runs in an
    /// explicit transaction (four round trips instead of one), without named prepared statements
    /// and session settings, and the store finds appends of other processes by polling. Default:
    /// off.
    pub transaction_pooling: bool,
    /// The schema with the log's tables and functions. Each schema has one log; a database can have
    /// any number of them. 1 to 63 characters. Default: `dcb`.
    pub schema: String,
    /// Limits on the size of an append.
    pub limits: Limits,
    /// Maximum number of appends per commit. Default: 512.
    pub max_batch_requests: usize,
    /// Maximum bytes of events per commit. A larger append is committed alone. Default: 1 MiB.
    pub max_batch_bytes: usize,
    /// Maximum number of queued appends. Further callers wait for space. Default: 8,192.
    pub max_queued_requests: usize,
    /// Maximum bytes of events in queued appends. Default: 16 MiB.
    pub max_queued_bytes: usize,
    /// Maximum duration of an append, including the wait in the queue. The server gives up before it
    /// is over, for example if another session holds the log's lock; the caller then gets
    /// [`Error::Timeout`](crate::Error::Timeout), and nothing was written. Default: 5 s.
    pub write_timeout: Duration,
    /// Maximum duration of a read, including the wait for a connection and a second try after a lost
    /// one. For a stream, the longest wait for its next rows; opening one may take twice as long and 2 s,
    /// because it goes on over another connection if the first one falls silent. `health` may take as
    /// long as a read, or twice `write_timeout` and 2 s. Default: 10 s.
    pub read_timeout: Duration,
    /// Whether a call fails at once while the server can't be reached, instead of waiting for the
    /// server within its time limit. The call fails with the cause of the last attempt to open a
    /// connection. Such calls start another attempt in the background, at most one every 500 ms, so
    /// they also fail for up to half a second after the server is back. The first call of an outage
    /// makes the attempt itself: it fails at once if the connection is refused, and within 5 s if the
    /// server is silent. Open connections go on. Default: off, which hides a short restart from reads.
    pub fail_fast: bool,
    /// Maximum number of connections for reads; the writer has a separate one. When all are busy,
    /// waiting reads of at most 256 positions share statements, and identical ones run once.
    /// Default: 8.
    pub read_connections: u32,
    /// Maximum number of concurrent projections per store. Excess calls fail immediately. Default:
    /// 100.
    pub max_concurrent_projections: usize,
}

impl Config {
    /// The defaults, for the database at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            replica_url: None,
            max_replica_lag: Duration::from_secs(10),
            transaction_pooling: false,
            schema: "dcb".to_owned(),
            limits: Limits::default(),
            max_batch_requests: 512,
            max_batch_bytes: 1 << 20,
            max_queued_requests: 8192,
            max_queued_bytes: 16 << 20,
            write_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(10),
            fail_fast: false,
            read_connections: 8,
            max_concurrent_projections: ProjectionLimit::DEFAULT_MAX,
        }
    }

    /// Sets `replica_url`.
    #[must_use]
    pub fn replica_url(mut self, url: impl Into<String>) -> Self {
        self.replica_url = Some(url.into());
        self
    }

    /// Turns on `fail_fast`.
    #[must_use]
    pub fn fail_fast(mut self) -> Self {
        self.fail_fast = true;
        self
    }

    /// Turns on `transaction_pooling`.
    #[must_use]
    pub fn transaction_pooling(mut self) -> Self {
        self.transaction_pooling = true;
        self
    }

    /// Sets `schema`.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
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
