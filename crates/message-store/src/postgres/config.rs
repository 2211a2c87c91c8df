use std::fmt;
use std::time::Duration;

use super::design::MESSAGE_STORE;
use crate::time::LONGEST_WAIT;
use crate::{Limits, NamespaceName};

/// Configuration of a store in PostgreSQL.
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
    /// URL of streaming replicas, with one host or several, used for reads of streams and categories.
    /// `None` reads from the primary. Reads use the hosts in turn; with
    /// `target_session_attrs=standby`, only those that are standbys. A replica may lack the newest
    /// messages; see [`PostgresStore::wait_for`](super::PostgresStore::wait_for). If it lacks the
    /// message of a bookmark, the primary answers the read.
    ///
    /// A connection to each replica asks twice a second how far it is. If a replica does not answer
    /// within a second, its reads go on at the primary or another replica, and come back once it
    /// answers. The same happens if it lags by more than `max_replica_lag`.
    ///
    /// Some reads always use the primary:
    /// - reads of all messages, because only the primary knows which writes are in progress;
    /// - reads for a member of a consumer group, because subscriptions compare them with the
    ///   primary's head;
    /// - the head, checkpoints, and lists and counts of streams and categories.
    pub replica_url: Option<String>,
    /// The longest time that a replica may lag: the time since the primary had written something to
    /// its log that the replica has not replayed. The store measures it by the log positions of both,
    /// so an idle server has no lag. A replica is used once it has what the primary had when the store
    /// connected. Default: 10 s.
    pub max_replica_lag: Duration,
    /// Whether the URLs lead to a pooler that gives the server session to another client after each
    /// transaction, like PgBouncer with `pool_mode = transaction`. Then each statement runs in an
    /// explicit transaction (four round trips instead of one), without named prepared statements
    /// and session settings, and the store finds messages of other processes by polling. Default:
    /// off.
    pub transaction_pooling: bool,
    /// The schema of the store. One database can hold many. Clients of Message DB expect the
    /// default, `message_store`. 1 to 63 letters, digits and underscores.
    pub schema: String,
    /// Whether to take over a schema that Message DB installed. Its messages and grants stay, and
    /// its clients go on without a restart.
    ///
    /// The first connect replaces the functions and views, and builds the indexes `messages_stream`
    /// and `messages_category`, in one transaction. No message is rewritten. Clients wait while the
    /// indexes are built. The connect waits for a client's transaction up to `write_timeout`; then
    /// it fails with [`Error::Timeout`], and nothing has changed. The connecting role must own the
    /// schema's objects.
    ///
    /// Default: off. Then such a schema is refused with [`Error::ForeignSchema`].
    ///
    /// [`Error::Timeout`]: crate::Error::Timeout
    /// [`Error::ForeignSchema`]: crate::Error::ForeignSchema
    pub adopt_message_db: bool,
    /// For [`PostgresNamespaces`](super::PostgresNamespaces): the namespace in the schema
    /// `message_store`, whose messages clients of Message DB reach. If the database already has
    /// this namespace in another schema, it stays there. `None` gives each namespace a separate
    /// schema. Default: `None`.
    pub interface_namespace: Option<NamespaceName>,
    /// Size limits for writes.
    pub limits: Limits,
    /// Maximum number of writes per commit. Default: 512.
    pub max_batch_requests: usize,
    /// Maximum size of the messages per commit in bytes. A larger write is committed alone.
    /// Default: 1 MiB.
    pub max_batch_bytes: usize,
    /// Maximum number of queued writes. Further callers wait for space. Default: 8,192.
    pub max_queued_requests: usize,
    /// Maximum size of queued messages in bytes. Default: 16 MiB.
    pub max_queued_bytes: usize,
    /// Time limit of a write, including the wait in the queue. The server gives up before it is over,
    /// for example if an SQL client holds a category's lock; the caller then gets
    /// [`Error::Timeout`](crate::Error::Timeout), and nothing was written. Default: 5 s.
    pub write_timeout: Duration,
    /// Time limit of a read. `health` may take as long, or twice `write_timeout` and 2 s. Default: 10 s.
    pub read_timeout: Duration,
    /// Whether a call fails at once while the server can't be reached, instead of waiting for the
    /// server within its time limit. The call fails with the cause of the last attempt to open a
    /// connection. Such calls start another attempt in the background, at most one every 500 ms, so
    /// they also fail for up to half a second after the server is back. The first call of an outage
    /// makes the attempt itself: it fails at once if the connection is refused, and within 5 s if the
    /// server is silent. Open connections go on. Default: off, which hides a short restart from reads.
    pub fail_fast: bool,
    /// Maximum number of read connections to each server, the primary and each replica. Default: 8.
    ///
    /// The store has up to three more connections: one for writes, one for writes that wait for a
    /// category's lock, and one for notifications.
    pub read_connections: u32,
    /// Whether each commit notifies other processes. If not, their subscriptions find new messages
    /// only by polling. Default: true.
    pub notify: bool,
}

impl Config {
    /// The default configuration for the database at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            replica_url: None,
            max_replica_lag: Duration::from_secs(10),
            transaction_pooling: false,
            schema: MESSAGE_STORE.to_owned(),
            adopt_message_db: false,
            interface_namespace: None,
            limits: Limits::default(),
            max_batch_requests: 512,
            max_batch_bytes: 1 << 20,
            max_queued_requests: 8192,
            max_queued_bytes: 16 << 20,
            write_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(10),
            fail_fast: false,
            read_connections: 8,
            notify: true,
        }
    }

    /// Sets the schema.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Sets the URL of replicas for reads.
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

    /// Turns on `adopt_message_db`.
    #[must_use]
    pub fn adopt_message_db(mut self) -> Self {
        self.adopt_message_db = true;
        self
    }

    /// Sets `interface_namespace`.
    #[must_use]
    pub fn interface_namespace(mut self, name: NamespaceName) -> Self {
        self.interface_namespace = Some(name);
        self
    }

    /// Caps the time limits to what clocks and the server accept.
    pub(super) fn normalized(mut self) -> Self {
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

/// Leaves out the URLs, which contain passwords.
impl fmt::Debug for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Config")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}
