//! Read models: state in the caller's tables, updated together with its checkpoint.
//!
//! Invariant: state and checkpoint change in one transaction, and only if the checkpoint is where
//! the runner expects it. If the answer to a commit is lost, the moved checkpoint shows whether it
//! took effect. Tested by `kept.rs` and `killed.rs`.

use std::future::Future;
use std::sync::Arc;

use sqlx::Connection as _;
use sqlx::postgres::PgConnection;

use super::checkpoint::Checkpoint;
use super::config::Config;
use super::error::error;
use crate::{Bookmark, Error, EventBatch, HandlerError, ReadModel, SequencedEvent};

/// Applies events to the tables of a [`PostgresReadModel`].
///
/// Keep all state in the database. A rolled-back batch is handled again, and state in the handler's
/// memory is not rolled back with it.
pub trait Handler: Send {
    /// Applies at least one event, in order. The runner ends the transaction: do not send `COMMIT`
    /// or `ROLLBACK`.
    ///
    /// # Errors
    /// Any error rolls the whole batch back. After a `sqlx::Error` for a lost connection,
    /// a deadlock or a serialization failure the runner tries the batch again. Any other error ends
    /// the run.
    fn handle(
        &mut self,
        transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> impl Future<Output = Result<(), HandlerError>> + Send;

    /// Empties the tables.
    ///
    /// # Errors
    /// Any error rolls the reset back.
    fn reset(
        &mut self,
        transaction: &mut PgConnection,
    ) -> impl Future<Output = Result<(), HandlerError>> + Send;
}

/// A [`ReadModel`] whose tables are in PostgreSQL, in the log's database or another.
///
/// The checkpoint is a row of the table `checkpoint` in the schema of the configuration. The first use
/// installs this schema if it is missing, as [`install_schema`](super::install_schema) does. Behind a pooler in transaction mode ([`Config::transaction_pooling`]) a handler must
/// not use named prepared statements either. A batch costs three round trips in addition to the
/// handler's, and one commit.
///
/// The handler runs in the runner's future. If that future is held and not polled, its transaction
/// stays open, and other runners of the projection wait for it. Run it in a task.
pub struct PostgresReadModel<H> {
    checkpoint: Checkpoint,
    handler: H,
    /// Taken out while in use. A dropped future therefore closes it, which rolls its transaction
    /// back.
    connection: Option<PgConnection>,
}

impl<H: Handler> PostgresReadModel<H> {
    /// The projection `name`, of 1 to 255 characters, with tables and checkpoint in the database of
    /// `config`. Uses only the URL, the schema and the transaction pooling of the configuration.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `url`, `schema` or `name`.
    pub fn new(config: &Config, name: impl Into<String>, handler: H) -> Result<Self, Error> {
        Ok(Self {
            checkpoint: Checkpoint::new(config, name.into())?,
            handler,
            connection: None,
        })
    }

    /// The handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    async fn connected(&mut self) -> Result<PgConnection, Error> {
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => self.checkpoint.connect().await,
        }
    }

    async fn apply_on(
        &mut self,
        connection: &mut PgConnection,
        batch: &EventBatch,
        checkpoint: Option<Bookmark>,
    ) -> Result<(), Error> {
        let mut transaction = connection.begin().await.map_err(|failed| error(&failed))?;
        // Move the checkpoint before the handler runs. The row lock makes a second runner wait.
        // When that runner goes on, it finds that the checkpoint has moved, and fails.
        self.checkpoint
            .advance(&mut transaction, checkpoint, batch.through)
            .await?;
        if !batch.events.is_empty() {
            let handled = self.handler.handle(&mut transaction, &batch.events).await;
            handled.map_err(|failed| handler_error(self.checkpoint.name(), failed))?;
        }
        transaction.commit().await.map_err(|failed| error(&failed))
    }

    async fn reset_on(&mut self, connection: &mut PgConnection) -> Result<(), Error> {
        let mut transaction = connection.begin().await.map_err(|failed| error(&failed))?;
        self.checkpoint.reset(&mut transaction).await?;
        let emptied = self.handler.reset(&mut transaction).await;
        emptied.map_err(|failed| handler_error(self.checkpoint.name(), failed))?;
        transaction.commit().await.map_err(|failed| error(&failed))
    }
}

/// Translates a handler's error. A database error that may pass becomes the store's transient
/// error, so that the runner tries again.
fn handler_error(name: &str, failed: HandlerError) -> Error {
    let database_error = failed.downcast_ref::<sqlx::Error>().map(error);
    match database_error.filter(Error::is_transient) {
        Some(error) => error,
        None => Error::Handler {
            name: name.to_owned(),
            source: failed.into(),
        },
    }
}

impl<H: Handler> ReadModel for PostgresReadModel<H> {
    async fn checkpoint(&mut self) -> Result<Option<Bookmark>, Error> {
        let mut connection = self.connected().await?;
        let stored = self.checkpoint.read(&mut connection).await?;
        // Kept only after success. After an error it is dropped, and the next call connects again.
        self.connection = Some(connection);
        Ok(stored)
    }

    async fn apply(
        &mut self,
        batch: Arc<EventBatch>,
        checkpoint: Option<Bookmark>,
    ) -> Result<(), Error> {
        let mut connection = self.connected().await?;
        self.apply_on(&mut connection, &batch, checkpoint).await?;
        self.connection = Some(connection);
        Ok(())
    }

    async fn reset(&mut self) -> Result<(), Error> {
        let mut connection = self.connected().await?;
        self.reset_on(&mut connection).await?;
        self.connection = Some(connection);
        Ok(())
    }
}

impl<H> std::fmt::Debug for PostgresReadModel<H> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PostgresReadModel")
            .field("name", &self.checkpoint.name())
            .finish_non_exhaustive()
    }
}
