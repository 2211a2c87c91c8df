use std::fmt;
use std::ops::RangeBounds;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use group_commit::Queue;
use postgres_store::{
    Channel, HEALTH_LIMIT, Listener, Progress, Routed, Schema, Server, WriterConnection, close,
    in_task, to_its_end,
};
use sqlx::{AssertSqlSafe, SqlSafeStr as _};
use tracing::{Instrument as _, debug_span, instrument};

use super::config::Config;
use super::counters::Counters;
use super::design::schema;
use super::readers::Readers;
use super::schema::ensure;
use super::statements::Statements;
use super::writer::Writer;
use crate::extent::Span;
use crate::wait::wait_for;
use crate::{
    Append, Appended, Bookmark, Error, EventStore, EventStream, Events, Extent, Fault, Health,
    KeptStates, Lanes, Metrics, Notifications, Notifier, Position, ProjectionLimit, Query,
    ReadOptions, RecordedCommand, Stats, Tracking,
};

/// A log in PostgreSQL. Cheap to clone; clones share connections and the queue.
#[derive(Clone)]
pub struct PostgresStore {
    pub(super) shared: Arc<Shared>,
    /// Whether it is [for a follower](EventStore::for_follower).
    follows: bool,
}

pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) queue: Queue<Writer>,
    pub(super) readers: Routed<Readers>,
    pub(super) statements: Arc<Statements>,
    pub(super) counters: Arc<Counters>,
    /// Wakes subscriptions after appends of this process, and after those that the listener hears of.
    pub(super) appends: Notifier,
    pub(super) listener: Channel,
    projections: ProjectionLimit,
    lanes: Lanes,
}

impl Shared {
    async fn close(&self) {
        // Close the queue before the connections, because its appends need the writer's.
        self.queue.close().await;
        self.listener.stop();
        self.queue.committer().session.close().await;
        self.readers.close().await;
    }
}

impl PostgresStore {
    /// Connects, installs or upgrades the schema, and verifies that no installed object has been
    /// changed. Several processes may do so at once.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `url`, `replica_url` or `schema`; [`Fault::Unreachable`];
    /// [`Fault::Refused`] if the database fails or its encoding is not UTF8;
    /// [`Fault::SchemaChanged`] with the differences; [`Fault::SchemaTooNew`]; [`Error::KeysMissing`]
    /// if the first or the last event lacks its keys.
    pub async fn connect(config: Config) -> Result<Self, Error> {
        // In a task, because the installation locks out other installers.
        // The handles are made here, because a recorder may be installed for this thread only.
        let metrics = Metrics::new("postgres", &config.schema);
        in_task(Self::install_and_connect(config, metrics)).await
    }

    async fn install_and_connect(config: Config, metrics: Metrics) -> Result<Self, Error> {
        let schema = schema(&config.schema)?;
        let servers = config.servers::<Error>()?;
        ensure(&config, &schema).await?;
        let statements = Arc::new(Statements::new(
            &schema.quoted(),
            config.transaction_pooling,
        ));
        let counters = Arc::new(Counters::new(metrics.clone()));
        let progress = Progress {
            primary: statements.progress.clone(),
            replica: statements.progress.clone(),
        };
        let readers = Routed::connect(
            &config,
            servers,
            progress,
            metrics.store().reads(),
            Readers::new,
        )
        .await;
        let server = readers.server().clone();
        let connection = WriterConnection::new(server.writer(config.write_timeout));
        let writer = Writer::new(connection, Arc::clone(&statements), Arc::clone(&counters));
        // Connect the writer here, so that a wrong configuration fails now and not at the first
        // append.
        writer.session.connect::<Error>().await?;
        let queue = Queue::new(writer, config.queue_limits());
        let projections = ProjectionLimit::new(config.max_concurrent_projections);
        let appends = Notifier::new();
        let listener = listener(&server, &schema, appends.clone());
        let lanes = Lanes::measured(config.lane_cache_bytes, metrics);
        let shared = Shared {
            config,
            queue,
            readers,
            statements,
            counters,
            appends,
            listener,
            projections,
            lanes,
        };
        Ok(Self {
            shared: Arc::new(shared),
            follows: false,
        })
    }

    /// Empties the log: events, tags, tracked positions, commands and the states of decisions. The next event
    /// gets position 1.
    ///
    /// The call waits for running appends and reads of all processes, and later ones wait for the
    /// call. A forward read with an `after` from before the call fails with
    /// [`Error::AfterBeyondHead`] while that position is beyond the new head. Once the log has
    /// grown to that position, the read of a [`Bookmark`](crate::Bookmark) fails with [`Error::PastReplaced`]. That of
    /// a plain position succeeds, but skips the new events up to `after`.
    ///
    /// The call does not touch checkpoints, because it does not empty the tables of the projections
    /// either. Reset every kept projection: its old checkpoint works like an old `after`.
    ///
    /// For tests and demonstrations. Stores of other processes identify the log by the id of its
    /// last event. If new events may have the ids of old ones, reconnect those stores.
    ///
    /// # Errors
    /// [`Fault::TimedOut`] if others did not finish in time; nothing has changed then.
    /// [`Fault::Unreachable`] if the connection was lost; call it again.
    pub async fn clear(&self) -> Result<(), Error> {
        if self.shared.readers.primary().is_closed() {
            return Err(Fault::Closed.into());
        }
        let shared = Arc::clone(&self.shared);
        let cleared = to_its_end(async move {
            let cleared = shared.queue.committer().clear().await;
            // After a failure too, because the log may have been cleared.
            shared.lanes.forget();
            cleared
        })
        .await;
        self.shared.readers.replicas().restart();
        // Wake the subscriptions after a failure too, because the log may have been cleared. An
        // announcement is only a hint: subscriptions read the log themselves.
        self.shared.appends.notify();
        cleared
    }
}

/// Listens for appends of other processes. The server sends one NOTIFY per batch of appends, on a channel
/// with the name of the log's schema. It does so only while a session holds the listeners' lock, so a
/// log without listeners saves the cost. Tested by `announced.rs` and `dying.rs`.
fn listener(server: &Server, schema: &Schema, appends: Notifier) -> Channel {
    let lock = schema
        .qualify("SELECT pg_advisory_lock_shared(1145262644, 'dcb.event'::regclass::oid::int)");
    // Safe to assert: only the schema's name is inserted.
    let lock = AssertSqlSafe(lock).into_sql_str();
    Listener::new(server, schema.name(), Some(lock))
        .channel(schema.name(), move || appends.notify())
}

impl EventStore for PostgresStore {
    // Not an `async fn`: its future would hold the append three times, and every caller moves it.
    fn submit(&self, append: Append) -> impl Future<Output = Result<Appended, Error>> + Send {
        let span = debug_span!("dcb.append", events = append.events.len());
        self.commit(append).instrument(span)
    }

    #[instrument(level = "debug", name = "dcb.query_stream", skip_all)]
    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        self.stream(query, options).await
    }

    #[instrument(level = "debug", name = "dcb.query", skip_all)]
    async fn query(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        if !self.follows {
            return self.read(query, options).await;
        }
        let (store, query) = (self.clone(), query.clone());
        let reading = async move { store.read(&query, options).await };
        self.shared.readers.in_turn(reading).await
    }

    #[instrument(level = "debug", name = "dcb.head", skip_all)]
    async fn head(&self) -> Result<Option<Bookmark>, Error> {
        self.last_event().await
    }

    #[instrument(level = "debug", name = "dcb.count", skip_all)]
    async fn count(&self, query: &Query) -> Result<u64, Error> {
        let extent = self.extent_of(query, Span::ALL).await?;
        Ok(extent.count)
    }

    #[instrument(level = "debug", name = "dcb.extent", skip_all)]
    async fn extent(
        &self,
        query: &Query,
        range: impl RangeBounds<Position> + Send,
    ) -> Result<Extent, Error> {
        self.extent_of(query, Span::of(&range)).await
    }

    #[instrument(level = "debug", name = "dcb.exists", skip_all)]
    async fn exists(&self, query: &Query) -> Result<bool, Error> {
        self.has_any(query).await
    }

    #[instrument(level = "debug", name = "dcb.tracked", skip_all)]
    async fn tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        self.last_tracked(source).await
    }

    #[instrument(level = "debug", name = "dcb.all_tracked", skip_all)]
    async fn all_tracked(&self) -> Result<Vec<Tracking>, Error> {
        self.tracked_sources().await
    }

    #[instrument(level = "debug", name = "dcb.commands", skip_all)]
    async fn commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> Result<Vec<RecordedCommand>, Error> {
        self.kept_commands(after, limit).await
    }

    async fn wait_for(&self, position: Position, limit: Duration) -> Result<Position, Error> {
        match self.shared.readers.replicas().are_none() {
            true => wait_for(self, position, limit).await,
            false => self.wait_for_replicas(position, limit).await,
        }
    }

    fn projection_limit(&self) -> &ProjectionLimit {
        &self.shared.projections
    }

    fn lanes(&self) -> Option<&Lanes> {
        Some(&self.shared.lanes)
    }

    fn kept_states(&self) -> Option<KeptStates> {
        Some(KeptStates::new(self.clone()))
    }

    fn for_follower(self) -> Self {
        Self {
            follows: true,
            ..self
        }
    }

    fn notifications(&self) -> Notifications {
        self.shared.listener.start();
        self.shared.appends.notifications()
    }

    fn metrics(&self) -> Metrics {
        self.shared.counters.metrics.clone()
    }

    async fn health(&self) -> Result<Health, Error> {
        let store = self.clone();
        let checks = to_its_end(async move {
            let session = &store.shared.queue.committer().session;
            let readers = store.shared.readers.primary();
            let read = |readers| store.require_keys_at_ends(readers);
            let mut health = session.health(readers, read).await?;
            health.listener = store.shared.listener.report();
            Ok(health)
        });
        self.shared.readers.within(HEALTH_LIMIT, pin!(checks)).await
    }

    fn outage(&self, since: Instant) -> Option<Error> {
        self.shared.readers.primary().outage(since)
    }

    fn stats(&self) -> Stats {
        let counters = &self.shared.counters;
        let queue = self.shared.queue.stats();
        self.shared.lanes.add_to(Stats {
            commits: counters.commits.load(Ordering::Relaxed),
            appends: counters.appends.load(Ordering::Relaxed),
            events: counters.events.load(Ordering::Relaxed),
            conflicts: counters.conflicts.load(Ordering::Relaxed),
            reads: self.shared.readers.statements(),
            lost_connections: counters.lost_connections.load(Ordering::Relaxed),
            largest_batch: queue.largest_batch as u64,
            queued_appends: queue.queued as u64,
            running_projections: self.shared.projections.running() as u64,
            read_connections: self.shared.readers.size(),
            listener: self.shared.listener.report(),
            ..Stats::default()
        })
    }

    async fn close(&self) {
        let shared = Arc::clone(&self.shared);
        close(async move { shared.close().await }).await;
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresStore")
            .field("schema", &self.shared.config.schema)
            .finish_non_exhaustive()
    }
}
