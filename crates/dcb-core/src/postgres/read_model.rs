//! Read models: state in the caller's tables, updated together with its checkpoint.
//!
//! Invariant: state and checkpoint change in one transaction, and only if the checkpoint is where
//! the runner expects it. If the answer to a commit is lost, the moved checkpoint shows whether it
//! took effect. Tested by `kept.rs` and `killed.rs`.

use std::future::Future;
use std::sync::Arc;

use sqlx::postgres::PgConnection;

use super::checkpoint::Checkpoint;
use super::config::Config;
use super::error::error;
use super::handler_session::{HandlerSession, Session, handler_error};
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

    /// Reacts to the events that were just handled, in the same transaction: for side effects such as
    /// messages, which must happen once even if a new version of the projection handles the same events
    /// again. A version that is built beside the current one does not react. Default: does nothing.
    ///
    /// # Errors
    /// As [`Handler::handle`].
    fn react(
        &mut self,
        transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> impl Future<Output = Result<(), HandlerError>> + Send {
        let _ = (transaction, events);
        async { Ok(()) }
    }

    /// Shows the tables of this version to readers, in the transaction that makes it the current one:
    /// for example, replaces a view. Default: does nothing.
    ///
    /// # Errors
    /// Any error keeps the other version in its place.
    fn make_current(
        &mut self,
        transaction: &mut PgConnection,
    ) -> impl Future<Output = Result<(), HandlerError>> + Send {
        let _ = transaction;
        async { Ok(()) }
    }

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
/// A connection that falls silent is given up within some 15 s, the server ends its session, and the runner
/// goes on over another one. A statement of the handler may take any time, and the handler may send none
/// for 10 s; if it then still waits for one and the same thing, its connection counts as silent.
///
/// The handler runs in the runner's future. If that future is held and not polled, its transaction
/// stays open, and other runners of the projection wait for it. Run it in a task.
pub struct PostgresReadModel<H> {
    checkpoint: Checkpoint,
    handler: H,
    session: HandlerSession,
}

impl<H: Handler> PostgresReadModel<H> {
    /// The projection `name`, of 1 to 255 characters, with tables and checkpoint in the database of
    /// `config`. Uses only the URL, the schema and the transaction pooling of the configuration.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `url`, `schema` or `name`.
    pub fn new(config: &Config, name: impl Into<String>, handler: H) -> Result<Self, Error> {
        let checkpoint = Checkpoint::new(config, name.into())?;
        Ok(Self {
            session: HandlerSession::new(checkpoint.target().clone()),
            checkpoint,
            handler,
        })
    }

    /// The handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    async fn apply_in(
        &mut self,
        Session { connection, watch }: &mut Session,
        batch: &EventBatch,
        checkpoint: Option<Bookmark>,
    ) -> Result<(), Error> {
        let applying = async {
            let begun = watch.begin(connection).await;
            let mut transaction = begun.map_err(|failed| error(&failed))?;
            // Move the checkpoint before the handler runs. The row lock makes a second runner wait.
            // When that runner goes on, it finds that the checkpoint has moved, and fails.
            let moved = self
                .checkpoint
                .advance(&mut transaction, checkpoint, batch.through);
            moved.await?;
            if !batch.events.is_empty() {
                let handled = handle(&mut self.handler, &mut transaction, &batch.events, true);
                handled
                    .await
                    .map_err(|failed| handler_error(self.checkpoint.name(), failed))?;
            }
            transaction.commit().await.map_err(|failed| error(&failed))
        };
        watch.over(applying).await
    }

    async fn reset_in(&mut self, Session { connection, watch }: &mut Session) -> Result<(), Error> {
        let resetting = async {
            let begun = watch.begin(connection).await;
            let mut transaction = begun.map_err(|failed| error(&failed))?;
            self.checkpoint.reset(&mut transaction).await?;
            let emptied = self.handler.reset(&mut transaction).await;
            emptied.map_err(|failed| handler_error(self.checkpoint.name(), failed))?;
            transaction.commit().await.map_err(|failed| error(&failed))
        };
        watch.over(resetting).await
    }
}

impl Session {
    async fn read(&mut self, checkpoint: &Checkpoint) -> Result<Option<Bookmark>, Error> {
        let Self { connection, watch } = self;
        let reading = async {
            let begun = watch.begin(connection).await;
            let mut transaction = begun.map_err(|failed| error(&failed))?;
            let stored = checkpoint.stored(&mut transaction).await?;
            let ended = transaction.commit().await;
            ended.map_err(|failed| error(&failed))?;
            Ok(stored)
        };
        watch.over(reading).await
    }
}

/// Handles events, and reacts to them if the version is the current one.
pub(super) async fn handle(
    handler: &mut impl Handler,
    transaction: &mut PgConnection,
    events: &[SequencedEvent],
    reacts: bool,
) -> Result<(), HandlerError> {
    handler.handle(transaction, events).await?;
    match reacts {
        true => handler.react(transaction, events).await,
        false => Ok(()),
    }
}

impl<H: Handler> ReadModel for PostgresReadModel<H> {
    async fn checkpoint(&mut self) -> Result<Option<Bookmark>, Error> {
        let mut session = self.session.take().await?;
        let stored = session.read(&self.checkpoint).await;
        self.session.keep(session, stored)
    }

    async fn apply(
        &mut self,
        batch: Arc<EventBatch>,
        checkpoint: Option<Bookmark>,
    ) -> Result<(), Error> {
        let mut session = self.session.take().await?;
        let applied = self.apply_in(&mut session, &batch, checkpoint).await;
        self.session.keep(session, applied)
    }

    async fn reset(&mut self) -> Result<(), Error> {
        let mut session = self.session.take().await?;
        let reset = self.reset_in(&mut session).await;
        self.session.keep(session, reset)
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
