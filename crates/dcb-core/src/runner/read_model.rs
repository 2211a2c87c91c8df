use std::future::Future;
use std::sync::Arc;

use crate::{Error, EventBatch, Position};

/// What a handler of events fails with: any error.
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;

/// State that is folded from a log and kept, together with how far it has got.
///
/// `postgres::PostgresReadModel` and `sqlite::SqliteReadModel` are such; write one for another
/// database, or for several tables in one that has a connection pool of its own.
pub trait ReadModel: Send {
    /// How far the state goes: everything up to this position is in it. `None` at the beginning.
    ///
    /// # Errors
    /// What the database met.
    fn checkpoint(&mut self) -> impl Future<Output = Result<Option<Position>, Error>> + Send;

    /// Takes in the events of a batch and moves the checkpoint to its end, in one transaction. The
    /// future may be dropped; then either both have happened or neither.
    ///
    /// # Errors
    /// Nothing was written, or it is not known whether: [`Error::CheckpointMoved`] where the
    /// checkpoint is not at `checkpoint`; [`Error::Handler`]; else what the database met. After
    /// [`Error::Unavailable`] and the like the same batch comes again.
    fn apply(
        &mut self,
        batch: Arc<EventBatch>,
        checkpoint: Option<Position>,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Empties the state and takes the checkpoint back to the beginning, in one transaction.
    ///
    /// # Errors
    /// Nothing was written: [`Error::Handler`], or what the database met.
    fn reset(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
}
