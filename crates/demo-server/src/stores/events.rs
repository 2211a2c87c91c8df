use std::ops::RangeBounds;
use std::path::Path;

use dcb_core::postgres::PostgresStore;
use dcb_core::sqlite::SqliteStore;
use dcb_core::{
    Append, Appended, Appends, Error, EventStore, EventStream, Events as Read, Extent, Position,
    ProjectionLimit, Query, ReadOptions, RecordedCommand, postgres, sqlite,
};

/// The event store on either backend.
// An enum, because `EventStore` returns `impl Future` and can't be a trait object.
#[derive(Clone)]
pub(crate) enum Events {
    Sqlite(SqliteStore),
    Postgres(PostgresStore),
}

/// The counters that both backends have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventStats {
    pub(crate) events: u64,
    pub(crate) appends: u64,
    pub(crate) commits: u64,
    pub(crate) conflicts: u64,
    pub(crate) reads: u64,
    pub(crate) queued_appends: u64,
}

impl Events {
    pub(super) async fn in_sqlite(folder: Option<&Path>) -> Result<Self, Error> {
        let config = match folder {
            Some(folder) => sqlite::Config::file(folder.join("events.sqlite")),
            None => sqlite::Config::memory(),
        };
        SqliteStore::open(config).await.map(Self::Sqlite)
    }

    pub(super) async fn in_postgres(url: &str) -> Result<Self, Error> {
        let store = PostgresStore::connect(postgres::Config::new(url)).await?;
        Ok(Self::Postgres(store))
    }

    /// Whether the store answers.
    pub(crate) async fn check(&self) -> Result<(), Error> {
        match self {
            Self::Sqlite(store) => store.health().await.map(drop),
            Self::Postgres(store) => store.health().await.map(drop),
        }
    }

    /// Counts of this server's operations on the store.
    pub(crate) fn stats(&self) -> EventStats {
        macro_rules! event_stats {
            ($stats:expr) => {{
                let stats = $stats;
                EventStats {
                    events: stats.events,
                    appends: stats.appends,
                    commits: stats.commits,
                    conflicts: stats.conflicts,
                    reads: stats.reads,
                    queued_appends: stats.queued_appends as u64,
                }
            }};
        }
        match self {
            Self::Sqlite(store) => event_stats!(store.stats()),
            Self::Postgres(store) => event_stats!(store.stats()),
        }
    }

    /// Deletes all events.
    pub(crate) async fn clear(&self) -> Result<(), Error> {
        match self {
            Self::Sqlite(store) => store.clear().await,
            Self::Postgres(store) => store.clear().await,
        }
    }

    pub(super) async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(store) => store.close().await,
        }
    }
}

/// Calls the same method on the backend.
macro_rules! forward {
    ($self:ident.$method:ident($($argument:expr),*) $($wait:tt)*) => {
        match $self {
            Self::Sqlite(store) => store.$method($($argument),*)$($wait)*,
            Self::Postgres(store) => store.$method($($argument),*)$($wait)*,
        }
    };
}

impl EventStore for Events {
    async fn submit(&self, append: Append) -> Result<Appended, Error> {
        forward!(self.submit(append).await)
    }

    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        forward!(self.query_stream(query, options).await)
    }

    async fn head(&self) -> Result<Option<Position>, Error> {
        forward!(self.head().await)
    }

    async fn count(&self, query: &Query) -> Result<u64, Error> {
        forward!(self.count(query).await)
    }

    async fn extent(
        &self,
        query: &Query,
        range: impl RangeBounds<Position> + Send,
    ) -> Result<Extent, Error> {
        forward!(self.extent(query, range).await)
    }

    async fn exists(&self, query: &Query) -> Result<bool, Error> {
        forward!(self.exists(query).await)
    }

    async fn tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        forward!(self.tracked(source).await)
    }

    async fn commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> Result<Vec<RecordedCommand>, Error> {
        forward!(self.commands(after, limit).await)
    }

    fn projection_limit(&self) -> &ProjectionLimit {
        forward!(self.projection_limit())
    }

    fn appends(&self) -> Appends {
        forward!(self.appends())
    }

    async fn query(&self, query: &Query, options: ReadOptions) -> Result<Read, Error> {
        forward!(self.query(query, options).await)
    }
}
