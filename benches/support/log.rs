//! The logs that rows and their floors use.

use super::content::Content;
use super::server::Server;
use bench::BoxError;
use dcb_core::postgres::{Config, PostgresStore};
use local_postgres::Database;
use std::sync::Arc;
use tokio::sync::Mutex;

/// A log on a server, made when it is first asked for.
///
/// Floors that read find the log of their row: its set-up runs before theirs, also where it renews
/// the log. Floors that write have a log [of their own](Self::beside).
#[derive(Clone)]
pub(crate) struct Log {
    server: Arc<Server>,
    content: Content,
    side: Side,
    database: Arc<Mutex<Option<Arc<Database>>>>,
}

impl Log {
    /// A log with this content.
    pub(crate) fn new(server: &Arc<Server>, content: Content) -> Self {
        Self::on_side(server, content, Side::Row)
    }

    fn on_side(server: &Arc<Server>, content: Content, side: Side) -> Self {
        Self {
            server: Arc::clone(server),
            content,
            side,
            database: Arc::default(),
        }
    }

    /// A log of its own with the same content.
    pub(crate) fn another(&self) -> Self {
        Self::on_side(&self.server, self.content, self.side)
    }

    /// The log of a floor that writes: another one with the same content, so that nobody writes
    /// between the appends of the row, nor between those of the floor.
    pub(crate) fn beside(&self) -> Self {
        Self::on_side(&self.server, self.content, Side::Floor)
    }

    /// What it holds when it is new.
    pub(crate) fn content(&self) -> Content {
        self.content
    }

    /// Its database, as whoever wrote to it left it.
    pub(crate) async fn database(&self) -> Result<Arc<Database>, BoxError> {
        let mut database = self.database.lock().await;
        if let Some(database) = &*database {
            return Ok(Arc::clone(database));
        }
        let copy = self.server.database(self.content, self.side).await?;
        Ok(Arc::clone(database.insert(copy)))
    }

    /// Its database, with nothing in it but its content.
    pub(crate) async fn renewed(&self) -> Result<Arc<Database>, BoxError> {
        *self.database.lock().await = None;
        self.database().await
    }
}

/// For whom a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    /// A row, and floors that read.
    Row,
    /// Floors that write.
    Floor,
}

/// A store on a log's database, which it keeps.
pub(crate) struct Store {
    pub(crate) events: PostgresStore,
    database: Arc<Database>,
}

impl Store {
    /// A store with the default configuration.
    pub(crate) async fn connect(database: Arc<Database>) -> Result<Self, BoxError> {
        Self::configured(database, |_| ()).await
    }

    /// A store with the default configuration but for what `change` changes.
    pub(crate) async fn configured(
        database: Arc<Database>,
        change: impl FnOnce(&mut Config),
    ) -> Result<Self, BoxError> {
        let mut config = Config::new(database.url());
        change(&mut config);
        let events = PostgresStore::connect(config).await?;
        Ok(Self { events, database })
    }
}
