use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use group_commit::Queue;
use postgres_store::{Channel, HEALTH_LIMIT, Listener, Routed, Schema, close, in_task, to_its_end};
use tracing::instrument;

use super::config::Config;
use super::counters::Counters;
use super::design::schema;
use super::installation::install;
use super::json::FieldPath;
use super::read::Readers;
use super::replica::progress;
use super::statements::{Statements, listeners_lock};
use super::writer::{Sessions, Writer};
use crate::{
    Bookmark, Category, CategoryInfo, CategoryRead, Checkpoint, Error, ExpectedVersion, Fault,
    Health, ListStreams, Message, MessageStore, Metrics, Notifications, Notifier, Position,
    RecordedMessage, Settled, Stats, StoreInfo, StreamInfo, StreamName, StreamRead, StreamWrite,
    Written,
};

/// A store in PostgreSQL. Cheap to clone; clones share connections and queues.
#[derive(Clone)]
pub struct PostgresStore {
    pub(super) shared: Arc<Shared>,
    /// Whether it is [for a follower](MessageStore::for_follower).
    follows: bool,
}

/// The connections of a store, or of the stores of all namespaces.
#[derive(Clone)]
pub(super) struct Connections {
    pub(super) readers: Routed<Readers>,
    pub(super) writing: Sessions,
    /// For writes that wait for the lock of a category.
    pub(super) waiting: Sessions,
    pub(super) listener: Listener,
}

impl Connections {
    /// These readers, this number of sessions for each kind of write, and a listener with this name.
    pub(super) fn new(
        config: &Config,
        readers: Routed<Readers>,
        writers: usize,
        listener: &str,
    ) -> Self {
        let settings = readers.server().writer(config.write_timeout);
        Self {
            writing: Sessions::new(writers, &settings),
            waiting: Sessions::new(writers, &settings),
            listener: Listener::new(readers.server(), listener, Some(listeners_lock())),
            readers,
        }
    }
}

pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) schema: Schema,
    pub(super) queue: Queue<Writer>,
    /// The queue of writes that wait for the lock of a category.
    pub(super) lock_wait_queue: Queue<Writer>,
    pub(super) readers: Routed<Readers>,
    /// Whether this store closes its connections. The stores of namespaces share theirs.
    owns_connections: bool,
    pub(super) statements: Arc<Statements>,
    pub(super) counters: Arc<Counters>,
    pub(super) notifier: Arc<Notifier>,
    /// The last result that was settled, and where the server's log was when it was found first.
    pub(super) settled: Mutex<Option<(Settled, u64)>>,
    listener: Channel,
}

impl PostgresStore {
    /// Connects to a database. Installs the schema if it is missing or older, and verifies that an
    /// installed one is unchanged. Several processes may do so at once. To take over a schema of
    /// Message DB, set [`Config::adopt_message_db`].
    ///
    /// With the default schema, this also creates the role `message_store` if it is missing, and
    /// grants it its rights. A login that may not do that writes a warning to the log. A login that
    /// is only a member of that role can run a store of an installed schema; retention and import
    /// need more rights.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `url`, `replica_url` or `schema`; [`Fault::Unreachable`] or
    /// [`Fault::Refused`] if the database fails, and the latter if its encoding is not UTF8;
    /// [`Fault::SchemaChanged`] with the differences; [`Fault::SchemaTooNew`];
    /// [`Error::ForeignSchema`] if something else installed the schema; [`Error::SequenceBehind`];
    /// [`Fault::Locked`], which names the sessions, if an adoption or the repair of the sequence waited
    /// too long for the table, or [`Fault::TimedOut`] if they have ended since.
    pub async fn connect(config: Config) -> Result<Self, Error> {
        // In a task, because the installation locks out other installers.
        // The handles are made here, because a recorder may be installed for this thread only.
        let metrics = Metrics::new("postgres");
        in_task(Self::install_and_connect(config, metrics)).await
    }

    async fn install_and_connect(config: Config, metrics: Metrics) -> Result<Self, Error> {
        let config = config.capped();
        let schema = schema(&config.schema)?;
        let servers = config.servers::<Error>()?;
        install(&config, &schema).await?;
        let reads = metrics.store().reads();
        let readers = Routed::connect(&config, servers, progress(), reads, |each| each).await;
        let connections = Connections::new(&config, readers, 1, schema.name());
        let store = Self::with_connections(config, schema, connections, true, metrics);
        // Fail here rather than on the first write.
        let writer = store.shared.queue.committer();
        writer.sessions.any().connect::<Error>().await?;
        Ok(store)
    }

    /// The store of an installed schema, with its own or shared connections.
    pub(super) fn with_connections(
        config: Config,
        schema: Schema,
        connections: Connections,
        owns_connections: bool,
        metrics: Metrics,
    ) -> Self {
        let statements = Arc::new(Statements::new(&schema, config.transaction_pooling));
        let counters = Arc::new(Counters::new(metrics));
        let notifier = Arc::new(Notifier::default());
        let Connections {
            readers,
            writing,
            waiting,
            listener,
        } = connections;
        let writer = |wait_for_locks, sessions| Writer {
            schema: schema.clone(),
            statements: Arc::clone(&statements),
            counters: Arc::clone(&counters),
            notifier: Arc::clone(&notifier),
            channel: config.notify.then(|| schema.name().to_owned()),
            wait_for_locks,
            sessions,
        };
        let shared = Shared {
            queue: Queue::new(writer(false, writing), config.queue_limits()),
            lock_wait_queue: Queue::new(writer(true, waiting), config.queue_limits()),
            listener: listener.channel(schema.name(), {
                let notifier = Arc::clone(&notifier);
                move || notifier.notify()
            }),
            config,
            schema,
            readers,
            owns_connections,
            statements,
            counters,
            notifier,
            settled: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            follows: false,
        }
    }

    /// The readers, or an error if the store is closed.
    pub(super) fn readers(&self) -> Result<&Routed<Readers>, Error> {
        if self.is_closed() {
            return Err(Fault::Closed.into());
        }
        Ok(&self.shared.readers)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.shared.queue.is_closed()
    }

    /// A clone of the store if it is for a follower, whose reads go [in turns](Routed::in_turn).
    fn of_follower(&self) -> Option<Self> {
        self.follows.then(|| self.clone())
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        read: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.shared.readers.in_turn(read).await
    }

    async fn check_health(&self) -> Result<Health, Error> {
        let readers = self.readers()?.primary();
        let head = || sqlx::query(self.shared.statements.head.clone());
        let read = async |readers: Readers| readers.rows(head).await.map(drop);
        let writer = self.shared.queue.committer();
        let mut health = writer.sessions.any().health(readers, read).await?;
        health.listener = self.shared.listener.report();
        Ok(health)
    }

    /// Closes the store except its connections, which other stores may use.
    pub(super) async fn close_except_connections(&self) {
        let shared = &self.shared;
        // In this order, because requests move from the first queue to the second.
        for queue in [&shared.queue, &shared.lock_wait_queue] {
            queue.close().await;
            if shared.owns_connections {
                queue.committer().sessions.close().await;
            }
        }
        shared.listener.stop();
    }
}

impl MessageStore for PostgresStore {
    #[instrument(level = "debug", name = "messages.write_streams", skip_all, fields(streams = writes.len()))]
    async fn write_streams(&self, writes: Vec<StreamWrite>) -> Result<Vec<Vec<Written>>, Error> {
        self.shared.config.limits.check_streams(&writes)?;
        let counts: Vec<usize> = writes.iter().map(|write| write.messages.len()).collect();
        let name = |path: FieldPath| {
            let FieldPath {
                stream,
                message,
                field,
            } = path;
            format!("streams[{stream}].messages[{message}].{field}")
        };
        let mut written = self.commit(writes, name).await?.into_iter();
        let take_stream = |count| written.by_ref().take(count).collect();
        Ok(counts.into_iter().map(take_stream).collect())
    }

    #[instrument(level = "debug", name = "messages.write_batch", skip_all, fields(messages = messages.len()))]
    async fn write_batch(
        &self,
        stream: &StreamName,
        messages: Vec<Message>,
        expected_version: ExpectedVersion,
    ) -> Result<Vec<Written>, Error> {
        self.shared.config.limits.check_batch(&messages)?;
        let write = StreamWrite::new(stream.clone(), messages).expected_version(expected_version);
        let name = |path: FieldPath| format!("messages[{}].{}", path.message, path.field);
        self.commit(vec![write], name).await
    }

    #[instrument(level = "debug", name = "messages.write", skip_all)]
    async fn write_message(
        &self,
        stream: &StreamName,
        message: Message,
        expected_version: ExpectedVersion,
    ) -> Result<Written, Error> {
        self.shared.config.limits.check_message(&message)?;
        let write = StreamWrite::new(stream.clone(), message).expected_version(expected_version);
        let written = self
            .commit(vec![write], |path| path.field.to_owned())
            .await?;
        written
            .first()
            .copied()
            .ok_or(Error::Fault(Fault::Panicked))
    }

    #[instrument(level = "debug", name = "messages.import", skip_all, fields(messages = messages.len()))]
    async fn import_messages(&self, messages: Vec<RecordedMessage>) -> Result<u64, Error> {
        // In a task, because an import locks out all other writers.
        let store = self.clone();
        in_task(async move { store.import(&messages).await }).await
    }

    #[instrument(level = "debug", name = "messages.get_stream", skip_all)]
    async fn get_stream_messages(
        &self,
        stream: &StreamName,
        read: StreamRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        let Some(store) = self.of_follower() else {
            return self.read_stream(stream, read).await;
        };
        let stream = stream.clone();
        self.in_turn(async move { store.read_stream(&stream, read).await })
            .await
    }

    #[instrument(level = "debug", name = "messages.get_category", skip_all)]
    async fn get_category_messages(
        &self,
        category: &Category,
        read: CategoryRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        let Some(store) = self.of_follower() else {
            return self.read_category(category, &read).await;
        };
        let category = category.clone();
        self.in_turn(async move { store.read_category(&category, &read).await })
            .await
    }

    #[instrument(level = "debug", name = "messages.get_last", skip_all)]
    async fn get_last_stream_message(
        &self,
        stream: &StreamName,
        message_type: Option<&str>,
    ) -> Result<Option<RecordedMessage>, Error> {
        self.read_last(stream, message_type).await
    }

    #[instrument(level = "debug", name = "messages.version", skip_all)]
    async fn stream_version(&self, stream: &StreamName) -> Result<Option<Position>, Error> {
        self.read_version(stream).await
    }

    #[instrument(level = "debug", name = "messages.head", skip_all)]
    async fn head(&self) -> Result<Option<Bookmark>, Error> {
        match self.of_follower() {
            None => self.read_head().await,
            Some(store) => self.in_turn(async move { store.read_head().await }).await,
        }
    }

    async fn settled(&self) -> Result<Option<Settled>, Error> {
        // Only followers ask.
        let store = self.clone();
        self.in_turn(async move { store.read_settled().await })
            .await
    }

    #[instrument(level = "debug", name = "messages.list_streams", skip_all)]
    async fn list_streams(&self, list: ListStreams) -> Result<Vec<StreamInfo>, Error> {
        self.streams(&list).await
    }

    #[instrument(level = "debug", name = "messages.list_categories", skip_all)]
    async fn list_categories(&self) -> Result<Vec<CategoryInfo>, Error> {
        self.categories().await
    }

    #[instrument(level = "debug", name = "messages.info", skip_all)]
    async fn info(&self) -> Result<StoreInfo, Error> {
        self.store_info().await
    }

    #[instrument(level = "debug", name = "messages.truncate", skip_all)]
    async fn truncate_stream(&self, stream: &StreamName, before: Position) -> Result<u64, Error> {
        self.truncate(stream, before).await
    }

    #[instrument(level = "debug", name = "messages.expire", skip_all)]
    async fn expire_messages(&self, category: &Category, before: SystemTime) -> Result<u64, Error> {
        self.expire(category, before).await
    }

    #[instrument(level = "debug", name = "messages.checkpoint", skip_all)]
    async fn checkpoint(&self, consumer: &str) -> Result<Option<Bookmark>, Error> {
        self.read_checkpoint(consumer).await
    }

    #[instrument(level = "debug", name = "messages.all_checkpoints", skip_all)]
    async fn all_checkpoints(&self) -> Result<Vec<Checkpoint>, Error> {
        self.read_checkpoints().await
    }

    #[instrument(level = "debug", name = "messages.save_checkpoint", skip_all)]
    async fn save_checkpoint(
        &self,
        consumer: &str,
        handled: impl Into<Bookmark> + Send,
    ) -> Result<Bookmark, Error> {
        self.write_checkpoint(consumer, handled.into()).await
    }

    #[instrument(level = "debug", name = "messages.delete_checkpoint", skip_all)]
    async fn delete_checkpoint(&self, consumer: &str) -> Result<bool, Error> {
        self.remove_checkpoint(consumer).await
    }

    fn for_follower(self) -> Self {
        Self {
            follows: true,
            ..self
        }
    }

    fn notifications(&self) -> Notifications {
        self.shared.listener.start();
        self.shared.notifier.notifications()
    }

    fn metrics(&self) -> Metrics {
        self.shared.counters.metrics.clone()
    }

    async fn health(&self) -> Result<Health, Error> {
        let store = self.clone();
        let checks = to_its_end(async move { store.check_health().await });
        self.shared.readers.within(HEALTH_LIMIT, pin!(checks)).await
    }

    fn stats(&self) -> Stats {
        let shared = &self.shared;
        let queues = [shared.queue.stats(), shared.lock_wait_queue.stats()];
        Stats {
            listener: self.shared.listener.report(),
            ..shared.counters.stats(queues)
        }
    }

    async fn close(&self) {
        let store = self.clone();
        close(async move {
            store.close_except_connections().await;
            if store.shared.owns_connections {
                store.shared.readers.close().await;
            }
        })
        .await;
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresStore")
            .field("schema", &self.shared.schema.name())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for super::PostgresNamespaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresNamespaces")
            .finish_non_exhaustive()
    }
}
