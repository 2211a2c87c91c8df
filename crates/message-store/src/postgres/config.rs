use postgres_store::{ServerConfig, embed_server_config};

use super::design::MESSAGE_STORE;
use crate::{Limits, NamespaceName};

/// The settings of a store in PostgreSQL. Those of the server are read and set like own ones:
///
/// ```
/// use message_store::postgres::Config;
///
/// let mut config = Config::new("postgres://localhost/app").schema("orders");
/// config.read_connections = 16;
/// ```
///
/// Replicas serve reads of streams and categories. A replica may lack the newest messages; see
/// [`PostgresStore::wait_for`](super::PostgresStore::wait_for). If it lacks the message of a bookmark, the
/// primary answers the read. Some reads always use the primary:
/// - reads of all messages, because only the primary knows which writes are in progress;
/// - reads for a member of a consumer group, because subscriptions compare them with the
///   primary's head;
/// - the head, checkpoints, and lists and counts of streams and categories.
///
/// Besides its read connections, a store has up to three: one for writes, one for writes that wait for
/// a category's lock, and one for notifications.
#[derive(Clone)]
#[non_exhaustive]
pub struct Config {
    /// The server, the schema, batches, time limits and connections. Clients of Message DB expect the
    /// default schema, `message_store`. The name has letters, digits and underscores only.
    pub server: ServerConfig,
    /// Whether to take over a schema that Message DB installed. Its messages and grants stay, and
    /// its clients go on without a restart.
    ///
    /// The first connect replaces the functions and views, and builds the indexes `messages_stream` and
    /// `messages_category`, in one transaction. No message is rewritten. Clients wait while the indexes
    /// are built. The connect waits for a client's transaction up to `write_timeout`; then it fails
    /// with [`Fault::TimedOut`](crate::Fault), and nothing has changed. The connecting role must own
    /// the schema's objects.
    ///
    /// Default: off. Then such a schema is refused with [`Error::ForeignSchema`].
    ///
    /// [`Fault::TimedOut`]: crate::Fault::TimedOut
    /// [`Error::ForeignSchema`]: crate::Error::ForeignSchema
    pub adopt_message_db: bool,
    /// For [`PostgresNamespaces`](super::PostgresNamespaces): the namespace in the schema
    /// `message_store`, whose messages clients of Message DB reach. If the database already has
    /// this namespace in another schema, it stays there. `None` gives each namespace a separate
    /// schema. Default: `None`.
    pub interface_namespace: Option<NamespaceName>,
    /// Size limits for writes.
    pub limits: Limits,
    /// Whether commits notify other processes. If not, their subscriptions find new messages only by
    /// polling. A commit notifies only if a store of the database listens, and not while the server's
    /// queue of notifications is half full. Default: true.
    pub notify: bool,
}

impl Config {
    /// The default configuration for the database at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            server: ServerConfig::new(url, MESSAGE_STORE, "message-store"),
            adopt_message_db: false,
            interface_namespace: None,
            limits: Limits::default(),
            notify: true,
        }
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

    /// The same, with time limits that clocks and the server accept.
    pub(super) fn capped(self) -> Self {
        Self {
            server: self.server.capped(),
            ..self
        }
    }
}

embed_server_config!(Config);
