//! The logs that rows and their floors use.

use super::content::Content;
use super::raw;
use super::server::{Server, Side};
use super::size::Size;
use bench::BoxError;
use dcb_core::postgres::{Config, PostgresStore};
use local_postgres::Database;
use sqlx::Connection as _;
use std::sync::Arc;
use tokio::sync::Mutex;

/// A log on a server. The first call of [`database`](Self::database) makes it. Clones share it.
///
/// A floor that reads uses the log of its row. It finds the log there, because the row's set-up
/// runs first. A floor that writes has [a separate log](Self::beside).
#[derive(Clone)]
pub(crate) struct Log {
    server: Arc<Server>,
    content: Content,
    side: Side,
    changes: Changes,
    database: Arc<Mutex<Option<Arc<Database>>>>,
}

impl Log {
    /// A log with this content, for rows that write.
    pub(crate) fn new(server: &Arc<Server>, content: Content) -> Self {
        Self::on_side(server, content, Side::Row, Changes::default())
    }

    /// A log with the dataset and the past events, for rows that write.
    pub(crate) fn of(server: &Arc<Server>, size: Size) -> Self {
        Self::new(server, Content::Dataset(size.dataset))
    }

    /// A log with this content that no row writes to. All rows of the program that read this
    /// content share one copy.
    pub(crate) fn read_only(server: &Arc<Server>, content: Content) -> Self {
        Self::on_side(server, content, Side::Readers, Changes::default())
    }

    /// The read-only log with the same content.
    pub(crate) fn as_read_only(&self) -> Self {
        Self::read_only(&self.server, self.content)
    }

    fn on_side(server: &Arc<Server>, content: Content, side: Side, changes: Changes) -> Self {
        Self {
            server: Arc::clone(server),
            content,
            side,
            changes,
            database: Arc::default(),
        }
    }

    /// Another log with the same content, whose schema this statement changes. The statement also
    /// changes logs [beside](Self::beside) it.
    pub(crate) fn altered(&self, statement: Option<&'static str>) -> Self {
        let altered_by = statement;
        let changes = Changes {
            altered_by,
            ..self.changes
        };
        Self::on_side(&self.server, self.content, self.side, changes)
    }

    /// The same log. When it is copied, the storage options of its tables become a fact of the
    /// target.
    pub(crate) fn noting_storage(mut self) -> Self {
        self.changes.notes_storage = true;
        self
    }

    /// The log of a floor that writes: a separate log with the same content, so the appends of the
    /// row and of the floor do not disturb each other.
    pub(crate) fn beside(&self) -> Self {
        Self::on_side(&self.server, self.content, Side::Floor, self.changes)
    }

    /// The content of a fresh copy.
    pub(crate) fn content(&self) -> Content {
        self.content
    }

    /// Its database, with everything that rows have written to it.
    pub(crate) async fn database(&self) -> Result<Arc<Database>, BoxError> {
        let mut database = self.database.lock().await;
        if let Some(database) = &*database {
            return Ok(Arc::clone(database));
        }
        let copy = self.server.database(self.content, self.side).await?;
        self.changes.apply(&self.server, &copy).await?;
        Ok(Arc::clone(database.insert(copy)))
    }

    /// A fresh copy of its content; the shared copy if the log is read-only.
    pub(crate) async fn renewed(&self) -> Result<Arc<Database>, BoxError> {
        // Dropped before the new copy is made, so that both never exist at the same time.
        *self.database.lock().await = None;
        self.database().await
    }
}

/// Changes to the copy of a log before a row uses it.
#[derive(Clone, Copy, Default)]
struct Changes {
    /// A statement that changes the schema.
    altered_by: Option<&'static str>,
    notes_storage: bool,
}

impl Changes {
    async fn apply(self, server: &Server, copy: &Database) -> Result<(), BoxError> {
        if let Some(statement) = self.altered_by {
            let mut connection = raw::connect(copy.url()).await?;
            sqlx::query(statement).execute(&mut connection).await?;
            connection.close().await?;
        }
        if self.notes_storage {
            server.note_storage(copy).await?;
        }
        Ok(())
    }
}

/// A store, and the database of its log, which must outlive it.
pub(crate) struct Store {
    pub(crate) events: PostgresStore,
    database: Arc<Database>,
}

impl Store {
    /// A store with the default configuration.
    pub(crate) async fn connect(database: Arc<Database>) -> Result<Self, BoxError> {
        Self::configured(database, |_| ()).await
    }

    /// A store with the default configuration with the changes of `change`.
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
