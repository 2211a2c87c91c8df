use std::time::Duration;

use sqlx::postgres::PgConnection;

use crate::failure::fault;
use crate::server::Server;
use crate::statement::LONGEST;
use crate::store_error::StoreError;
use crate::watch::Watch;

/// How a store reaches PostgreSQL, and the limits of its writes and reads. Each store adds its
/// settings.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerConfig {
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
    /// hosts in turn; with `target_session_attrs=standby`, only those that are standbys. Reads see only
    /// what the replica has received; the store's `wait_for` waits until they see a write. A read that
    /// asks for more than the replica has goes to the primary. The store's own `Config` names the reads
    /// that always use the primary. Default: none.
    ///
    /// A connection to each replica asks twice a second how far it is. If a replica does not answer
    /// within a second, its reads go on at the primary or another replica, and come back once it
    /// answers. The same happens if it lags by more than `max_replica_lag`.
    pub replica_url: Option<String>,
    /// The longest time that a replica may lag: the time since the primary had something that the
    /// replica lacks. The store compares how far both are, so an idle primary makes no replica lag. A
    /// replica is used once it has what the primary had when the store connected. Default: 10 s.
    pub max_replica_lag: Duration,
    /// Whether the URLs lead to a pooler that gives the server session to another client after each
    /// transaction, like PgBouncer with `pool_mode = transaction`. Then each statement runs in an
    /// explicit transaction (four round trips instead of one), without named prepared statements
    /// and session settings, and the store finds writes of other processes by polling. Default: off.
    pub transaction_pooling: bool,
    /// The schema with the store's tables and functions, of 1 to 63 characters. One database can hold
    /// any number of stores, each in a schema. The store's own `Config` names the default.
    pub schema: String,
    /// Maximum number of calls per commit. Default: 512.
    pub max_batch_requests: usize,
    /// Maximum bytes of events or messages per commit. A larger call is committed alone. Default: 1
    /// MiB.
    pub max_batch_bytes: usize,
    /// Maximum number of queued calls. Further callers wait for space. Default: 8,192.
    pub max_queued_requests: usize,
    /// Maximum bytes of events or messages in queued calls. Default: 16 MiB.
    pub max_queued_bytes: usize,
    /// Time limit of a write, including the wait in the queue. The server gives up before it is over,
    /// for example if another session holds a lock; the caller then gets `Error::Timeout`, and nothing
    /// was written. Default: 5 s.
    pub write_timeout: Duration,
    /// Time limit of a read, including the wait for a connection and a second try after a lost one. For
    /// a stream, the longest wait for its next rows; opening one may take twice as long and 2 s, because
    /// it goes on over another connection if the first one falls silent. `health` takes 3 s at most.
    /// Default: 10 s.
    pub read_timeout: Duration,
    /// Whether a call fails at once while the server can't be reached, instead of waiting for the
    /// server within its time limit. The call fails with the cause of the last attempt to open a
    /// connection. Such calls start another attempt in the background, at most one every 500 ms, so
    /// they also fail for up to half a second after the server is back. The first call of an outage
    /// makes the attempt itself: it fails at once if the connection is refused, and within 5 s if the
    /// server is silent. Open connections go on. Default: off, which hides a short restart from reads.
    pub fail_fast: bool,
    /// Maximum number of read connections to each server, the primary and each replica. The store has
    /// a few more connections, for writes and notifications. `health` opens one more for reads while all are
    /// in use. Default: 8.
    pub read_connections: u32,
    application: &'static str,
}

/// How long `health` may take. Those who ask for it give up soon.
pub const HEALTH_LIMIT: Duration = Duration::from_secs(3);

/// The servers that a configuration names.
pub struct Servers {
    /// The server that takes writes.
    pub primary: Server,
    /// The replicas for reads.
    pub replicas: Vec<Server>,
}

impl ServerConfig {
    /// The defaults, for the database at `url`. The server shows `application` in its list of sessions.
    pub fn new(
        url: impl Into<String>,
        schema: impl Into<String>,
        application: &'static str,
    ) -> Self {
        Self {
            url: url.into(),
            replica_url: None,
            max_replica_lag: Duration::from_secs(10),
            transaction_pooling: false,
            schema: schema.into(),
            max_batch_requests: 512,
            max_batch_bytes: 1 << 20,
            max_queued_requests: 8192,
            max_queued_bytes: 16 << 20,
            write_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(10),
            fail_fast: false,
            read_connections: 8,
            application,
        }
    }

    /// The server that takes writes.
    ///
    /// # Errors
    /// [`StoreError::invalid`] with field `url`.
    pub fn primary<E: StoreError>(&self) -> Result<Server, E> {
        Server::new(&self.url, self.application, self.transaction_pooling)
            .map(|server| server.fail_fast(self.fail_fast))
            .map_err(|reason| E::invalid("url", reason))
    }

    /// The server that takes writes, and the replicas for reads.
    ///
    /// # Errors
    /// [`StoreError::invalid`] with field `url` or `replica_url`.
    pub fn servers<E: StoreError>(&self) -> Result<Servers, E> {
        let replicas = match &self.replica_url {
            Some(url) => Server::replicas(url, self.application, self.transaction_pooling)
                .map_err(|reason| E::invalid("replica_url", reason))?,
            None => Vec::new(),
        };
        let replicas = replicas.into_iter();
        Ok(Servers {
            primary: self.primary::<E>()?,
            replicas: replicas
                .map(|server| server.fail_fast(self.fail_fast))
                .collect(),
        })
    }

    /// Opens a session without a time limit, to install, verify and import, and its watch. Its
    /// statements are not named, and run in transactions: behind a pooler, other clients use the
    /// server's session too.
    ///
    /// # Errors
    /// As [`primary`](Self::primary); the driver's error if there is no connection.
    pub async fn administrator<E: StoreError>(&self) -> Result<(PgConnection, Watch), E> {
        let opened = Watch::open(&self.primary::<E>()?).await;
        opened.map_err(|failed| fault(&failed).into())
    }

    /// The limits of a queue of writes.
    pub fn queue_limits(&self) -> group_commit::Limits {
        group_commit::Limits {
            max_batch_requests: self.max_batch_requests,
            max_batch_bytes: self.max_batch_bytes,
            max_queued_requests: self.max_queued_requests,
            max_queued_bytes: self.max_queued_bytes,
            ..group_commit::Limits::default()
        }
    }

    /// The same, with time limits that clocks and the server accept: about 24 days at most.
    #[must_use]
    pub fn capped(self) -> Self {
        Self {
            write_timeout: self.write_timeout.min(LONGEST),
            read_timeout: self.read_timeout.min(LONGEST),
            ..self
        }
    }
}

/// Lets a store's `Config`, which has a [`ServerConfig`] in its field `server`, read and set the server's
/// settings like its own. Its `Debug` leaves out the URLs, because they contain passwords.
#[macro_export]
macro_rules! embed_server_config {
    ($config:ident) => {
        impl ::std::ops::Deref for $config {
            type Target = $crate::ServerConfig;

            fn deref(&self) -> &$crate::ServerConfig {
                &self.server
            }
        }

        impl ::std::ops::DerefMut for $config {
            fn deref_mut(&mut self) -> &mut $crate::ServerConfig {
                &mut self.server
            }
        }

        impl $config {
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

        impl ::std::fmt::Debug for $config {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct("Config")
                    .field("schema", &self.schema)
                    .finish_non_exhaustive()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use store_fault::Fault;

    use super::*;

    #[derive(Clone, Debug)]
    struct Failed;

    impl From<Fault> for Failed {
        fn from(_: Fault) -> Self {
            Self
        }
    }

    impl StoreError for Failed {
        fn invalid(_: &'static str, _: String) -> Self {
            Self
        }

        fn fault(&self) -> Option<&Fault> {
            None
        }

        fn is_out_of_place(&self) -> bool {
            false
        }
    }

    /// A read waited at a replica that refuses connections, although the primary was there.
    #[test]
    fn replicas_fail_fast_as_the_primary_does() {
        for fail_fast in [false, true] {
            let mut config = ServerConfig::new("postgres://a/log", "dcb", "test");
            config.replica_url = Some("postgres://b,c/log".to_owned());
            config.fail_fast = fail_fast;
            let servers = config.servers::<Failed>().unwrap();
            assert_eq!(servers.replicas.len(), 2);
            for server in servers.replicas.iter().chain([&servers.primary]) {
                assert_eq!(server.hosts().fails_fast, fail_fast);
            }
        }
    }
}
