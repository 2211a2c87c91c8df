//! State in tables of the caller's, moved together with its checkpoint.

use std::future::Future;
use std::sync::Arc;

use sqlx::Connection as _;
use sqlx::postgres::PgConnection;

use super::checkpoint::Checkpoint;
use super::config::Config;
use super::error::error;
use crate::{Error, EventBatch, HandlerError, Position, ReadModel, SequencedEvent};

/// How events change the tables of a [`PostgresReadModel`].
///
/// All that counts must be in the database: a batch that is rolled back comes again, and what a
/// handler keeps in memory is not rolled back with it.
pub trait Handler: Send {
    /// Takes in events, at least one, in order. The transaction is the runner's: no `COMMIT`, no
    /// `ROLLBACK`.
    ///
    /// # Errors
    /// Whatever makes it impossible to take them in; nothing of the batch is kept. A `sqlx::Error`
    /// of a lost connection, a deadlock or a serialization failure makes the batch come again, any
    /// other error ends the run.
    fn handle(
        &mut self,
        transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> impl Future<Output = Result<(), HandlerError>> + Send;

    /// Empties the tables.
    ///
    /// # Errors
    /// Whatever makes it impossible; nothing is changed then.
    fn reset(
        &mut self,
        transaction: &mut PgConnection,
    ) -> impl Future<Output = Result<(), HandlerError>> + Send;
}

/// A [`ReadModel`] whose tables are in PostgreSQL, in the log's database or another.
///
/// The checkpoint is a row of the table `checkpoint` in the schema of the configuration, made
/// where it is missing. Behind a pooler in transaction mode
/// ([`Config::transaction_pooling`]) a handler's own statements must not be prepared under a name
/// either. A batch costs three round trips beside the handler's own, and one commit.
pub struct PostgresReadModel<H> {
    checkpoint: Checkpoint,
    handler: H,
    /// Taken out while it is used, so that a dropped future closes it and with it its transaction.
    connection: Option<PgConnection>,
}

impl<H: Handler> PostgresReadModel<H> {
    /// The projection `name`, of 1 to 255 characters, whose tables and checkpoint are in the
    /// database of `config`. Of the configuration only URL, schema and transaction pooling count.
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
        checkpoint: Option<Position>,
    ) -> Result<(), Error> {
        let mut transaction = connection.begin().await.map_err(|failed| error(&failed))?;
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

/// What a handler met in its database is told like what the store met, where trying again may mend
/// it.
fn handler_error(name: &str, failed: HandlerError) -> Error {
    let met = failed.downcast_ref::<sqlx::Error>().map(error);
    match met.filter(Error::is_transient) {
        Some(error) => error,
        None => Error::Handler {
            name: name.to_owned(),
            source: failed.into(),
        },
    }
}

impl<H: Handler> ReadModel for PostgresReadModel<H> {
    async fn checkpoint(&mut self) -> Result<Option<Position>, Error> {
        let mut connection = self.connected().await?;
        let stored = self.checkpoint.read(&mut connection).await?;
        self.connection = Some(connection);
        Ok(stored)
    }

    async fn apply(
        &mut self,
        batch: Arc<EventBatch>,
        checkpoint: Option<Position>,
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
