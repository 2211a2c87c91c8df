use std::future::Future;
use std::sync::Arc;

use crate::{Bookmark, Error, EventBatch};

/// The error of an event handler, of any type.
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;

/// Stored state that is folded from a log, together with a checkpoint.
///
/// `postgres::PostgresReadModel` and `sqlite::SqliteReadModel` implement it. Implement it yourself
/// for another database, or to use your own connection pool.
pub trait ReadModel: Send {
    /// The checkpoint: the state contains all events up to this one. `None` at the beginning. Without
    /// the id of the event, as an older version may have stored it, the runner can't notice that the
    /// log was replaced, until [`ReadModel::apply`] stores one with an id.
    ///
    /// # Errors
    /// [`Fault::Unreachable`](crate::Fault), [`Fault::TimedOut`](crate::Fault) or
    /// [`Fault::Refused`](crate::Fault) from the database.
    fn checkpoint(&mut self) -> impl Future<Output = Result<Option<Bookmark>, Error>> + Send;

    /// Applies the events of a batch and moves the checkpoint to its end, in one transaction. If the
    /// caller drops the future, either both happen or neither.
    ///
    /// # Errors
    /// [`Error::CheckpointMoved`] if the stored checkpoint is not `checkpoint`, and
    /// [`Error::Handler`] if the handler fails; nothing is written. After an error of the database,
    /// the outcome may be unknown. If that error is transient
    /// ([`Error::is_transient`]), the runner calls again with the same batch.
    fn apply(
        &mut self,
        batch: Arc<EventBatch>,
        checkpoint: Option<Bookmark>,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Empties the state and resets the checkpoint to the beginning, in one transaction.
    ///
    /// # Errors
    /// [`Error::Handler`] if the handler fails; [`Fault::Unreachable`](crate::Fault),
    /// [`Fault::TimedOut`](crate::Fault) or [`Fault::Refused`](crate::Fault) from the database. Nothing
    /// is written.
    fn reset(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
}
