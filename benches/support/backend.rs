//! The stores that the same operation is measured on.

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

/// A log that a row begins anew on, of one kind of store.
pub(crate) trait Backend: Clone + Send + Sync + 'static {
    /// The store.
    type Events: EventStore + 'static;

    /// A store on a copy of the log's content, with what must live as long as the store.
    fn open(&self) -> impl Future<Output = Result<(Self::Events, Kept), BoxError>> + Send;
}

/// What a store stands on; dropped after it.
pub(crate) type Kept = Box<dyn Any + Send + Sync>;

/// The state of a row: a store, and events that nobody else makes.
pub(crate) struct Opened<S> {
    pub(crate) events: S,
    pub(crate) workload: Workload,
    _kept: Kept,
}

/// A set-up on a new log with the log's content.
pub(crate) fn opened<B: Backend>(backend: &B) -> AsyncOp<Opened<B::Events>> {
    let backend = backend.clone();
    Op::setup(move || {
        let backend = backend.clone();
        async move {
            let (events, kept) = backend.open().await?;
            Ok(Opened {
                events,
                workload: rows::workload(),
                _kept: kept,
            })
        }
    })
}

impl Backend for Log {
    type Events = PostgresStore;

    async fn open(&self) -> Result<(PostgresStore, Kept), BoxError> {
        let store = Store::connect(self.renewed().await?).await?;
        Ok((store.events.clone(), Box::new(store)))
    }
}

/// A log in a SQLite file, flushed at every commit.
#[derive(Clone)]
pub(crate) struct SqliteLog {
    content: Content,
    /// The file that copies are made from, made when it is first asked for.
    template: Arc<OnceCell<TempDir>>,
}

/// Of a log in its folder.
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
        // Moves the write-ahead log into the file.
        store.close().await;
        Ok(folder)
    }
}

impl Backend for SqliteLog {
    type Events = SqliteStore;

    async fn open(&self) -> Result<(SqliteStore, Kept), BoxError> {
        let template = self.template.get_or_try_init(|| self.filled()).await?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join(FILE);
        std::fs::copy(template.path().join(FILE), &file)?;
        let store = SqliteStore::open(Config::file(file)).await?;
        Ok((store, Box::new(folder)))
    }
}
