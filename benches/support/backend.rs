//! The stores on which an operation is measured.

use super::content::{self, Content};
use super::log::{Log, Store};
use super::rows;
use bench::{AsyncOp, BoxError, Op};
use course_enrollment::workload::Workload;
use dcb_core::EventStore;
use dcb_core::postgres::PostgresStore;
use dcb_core::sqlite::{Config, SqliteStore};
use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::OnceCell;

/// A log on one kind of store. Each row that writes starts on a fresh copy.
pub(crate) trait Backend: Clone + Send + Sync + 'static {
    /// The store.
    type Events: EventStore + 'static;

    /// The log for operations that only read: they may share a copy.
    fn as_read_only(&self) -> Self;

    /// A store on a fresh copy of the log, and the value that must outlive the store.
    fn open(&self) -> impl Future<Output = Result<(Self::Events, Ground), BoxError>> + Send;
}

/// The database or folder of a store; dropped after it.
pub(crate) type Ground = Box<dyn Any + Send + Sync>;

/// The state of a row: a store, and a source of unique events.
pub(crate) struct Opened<S> {
    pub(crate) events: S,
    pub(crate) workload: Workload,
    _ground: Ground,
}

/// A set-up on a fresh copy of the log.
pub(crate) fn opened<B: Backend>(backend: &B) -> AsyncOp<Opened<B::Events>> {
    Op::given(backend, |backend| async move {
        let (events, ground) = backend.open().await?;
        Ok(Opened {
            events,
            workload: rows::workload(),
            _ground: ground,
        })
    })
}

impl Backend for Log {
    type Events = PostgresStore;

    fn as_read_only(&self) -> Self {
        Self::as_read_only(self)
    }

    async fn open(&self) -> Result<(PostgresStore, Ground), BoxError> {
        let store = Store::connect(self.renewed().await?).await?;
        Ok((store.events.clone(), Box::new(store)))
    }
}

/// A log in a SQLite file, flushed at every commit.
#[derive(Clone)]
pub(crate) struct SqliteLog {
    content: Content,
    /// The folder of the file that copies are made from; the first copy makes it.
    template: Arc<OnceCell<TempDir>>,
}

/// The name of a log's file in its folder.
const FILE: &str = "log.db";

impl SqliteLog {
    /// A log with this content.
    pub(crate) fn new(content: Content) -> Self {
        Self {
            content,
            template: Arc::default(),
        }
    }

    async fn filled(&self) -> Result<TempDir, BoxError> {
        let folder = tempfile::tempdir()?;
        let store = SqliteStore::open(Config::file(folder.path().join(FILE))).await?;
        content::fill_store(self.content, &store).await?;
        // Closing moves the write-ahead log into the file, so copying that one file is enough.
        store.close().await;
        Ok(folder)
    }
}

impl Backend for SqliteLog {
    type Events = SqliteStore;

    // Readers get separate copies too, because copying the file takes only milliseconds.
    fn as_read_only(&self) -> Self {
        self.clone()
    }

    async fn open(&self) -> Result<(SqliteStore, Ground), BoxError> {
        // Filling a file through the store takes seconds, copying it takes milliseconds.
        let template = self.template.get_or_try_init(|| self.filled()).await?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join(FILE);
        std::fs::copy(template.path().join(FILE), &file)?;
        let store = SqliteStore::open(Config::file(file)).await?;
        Ok((store, Box::new(folder)))
    }
}
