//! A store that removes its own file, for factories of the conformance suite.

use dcb_core::sqlite::{Config, SqliteStore};
use dcb_core::{
    Append, Appended, Appends, Error, EventStore, EventStream, Events, Position, ProjectionLimit,
    Query, ReadOptions, RecordedCommand,
};
use tempfile::TempDir;

/// A store over a temporary file. The file is removed with the value.
pub(crate) struct TemporaryStore {
    store: SqliteStore,
    _folder: TempDir,
}

impl TemporaryStore {
    pub(crate) async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self::over(Config::file(folder.path().join("log.db")), folder).await
    }

    pub(crate) async fn with_keys_in_memory(keys: usize) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut config = Config::file(folder.path().join("log.db"));
        config.keys_in_memory = keys;
        Self::over(config, folder).await
    }

    async fn over(config: Config, folder: TempDir) -> Self {
        Self {
            store: SqliteStore::open(config).await.expect("the store opens"),
            _folder: folder,
        }
    }
}

impl EventStore for TemporaryStore {
    async fn submit(&self, append: Append) -> Result<Appended, Error> {
        self.store.submit(append).await
    }

    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        self.store.query_stream(query, options).await
    }

    async fn query(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        self.store.query(query, options).await
    }

    async fn head(&self) -> Result<Option<Position>, Error> {
        self.store.head().await
    }

    async fn count(&self, query: &Query) -> Result<u64, Error> {
        self.store.count(query).await
    }

    async fn exists(&self, query: &Query) -> Result<bool, Error> {
        self.store.exists(query).await
    }

    async fn tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        self.store.tracked(source).await
    }

    async fn commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> Result<Vec<RecordedCommand>, Error> {
        self.store.commands(after, limit).await
    }

    fn projection_limit(&self) -> &ProjectionLimit {
        self.store.projection_limit()
    }

    fn appends(&self) -> Appends {
        self.store.appends()
    }
}
