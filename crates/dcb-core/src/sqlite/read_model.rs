//! State in tables of the caller's, moved together with its checkpoint.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};
use tokio::task::spawn_blocking;

use super::config::Config;
use super::error::{error, is_busy};
use super::log::absolute;
use super::session;
use crate::text::{check, invalid};
use crate::{Error, EventBatch, HandlerError, Position, Problem, ReadModel, SequencedEvent};

const TABLE: &str = include_str!("../../schema/sqlite/tables/dcb_checkpoint.sql");

/// How events change the tables of a [`SqliteReadModel`]. It is called on a thread that may wait
/// for the disk.
///
/// All that counts must be in the file: a batch that is rolled back comes again, and what a handler
/// keeps in memory is not rolled back with it.
pub trait Handler: Send + 'static {
    /// Takes in events, at least one, in order.
    ///
    /// # Errors
    /// Whatever makes it impossible to take them in; nothing of the batch is kept. A
    /// `rusqlite::Error` of a file that is busy makes the batch come again, any other error ends
    /// the run.
    fn handle(
        &mut self,
        transaction: &Transaction<'_>,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError>;

    /// Empties the tables.
    ///
    /// # Errors
    /// Whatever makes it impossible; nothing is changed then.
    fn reset(&mut self, transaction: &Transaction<'_>) -> Result<(), HandlerError>;
}

/// A [`ReadModel`] whose tables are in an SQLite file, the log's or another.
///
/// The checkpoint is a row of the table `dcb_checkpoint` of that file, made where it is missing. A
/// batch is one transaction, and one hop to tokio's blocking pool. One whose future was dropped may
/// be committed all the same.
pub struct SqliteReadModel<H> {
    state: Arc<Mutex<State<H>>>,
}

struct State<H> {
    config: Config,
    name: String,
    handler: H,
    connection: Option<Connection>,
}

impl<H: Handler> SqliteReadModel<H> {
    /// The projection `name`, of 1 to 255 characters, whose tables and checkpoint are in the file
    /// of `config`. Of the configuration only the path, when commits are flushed, and
    /// [`Config::query_timeout`] count: so long it waits for other writers of the file.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `path` (nothing is kept in memory) or `name`;
    /// [`Error::Unavailable`] where the path is relative to a folder that is gone.
    pub fn new(mut config: Config, name: impl Into<String>, handler: H) -> Result<Self, Error> {
        const MAX_CHARS: usize = 255;
        let name = name.into();
        check(&name, MAX_CHARS).map_err(invalid("name"))?;
        let Some(path) = config.path.take_if(|path| !path.as_os_str().is_empty()) else {
            return Err(invalid("path")(Problem::Empty));
        };
        config.path = Some(absolute(&path)?);
        let state = State {
            config,
            name,
            handler,
            connection: None,
        };
        Ok(Self {
            state: Arc::new(Mutex::new(state)),
        })
    }

    async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut State<H>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let state = Arc::clone(&self.state);
        // Poisoned or not: a transaction that panicked was rolled back.
        let called =
            spawn_blocking(move || work(&mut state.lock().unwrap_or_else(PoisonError::into_inner)));
        match called.await {
            Ok(done) => done,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is shut down.
                Err(_) => Err(Error::Closed),
            },
        }
    }
}

impl<H: Handler> State<H> {
    /// Does `work` in a transaction that holds the file's write lock.
    fn transact<T>(
        &mut self,
        work: impl FnOnce(&mut Step<'_, H>, &Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(open(&self.config).map_err(|failed| error(&failed))?),
        };
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|failed| error(&failed))?;
        let mut step = Step {
            name: &self.name,
            handler: &mut self.handler,
        };
        let done = work(&mut step, &transaction)?;
        transaction.commit().map_err(|failed| error(&failed))?;
        Ok(done)
    }
}

/// Opens the file and makes sure that it has the table of checkpoints.
fn open(config: &Config) -> rusqlite::Result<Connection> {
    let connection = session::plain(config)?;
    connection.execute_batch(TABLE)?;
    Ok(connection)
}

/// What one transaction works with.
struct Step<'s, H> {
    name: &'s str,
    handler: &'s mut H,
}

impl<H: Handler> Step<'_, H> {
    fn stored(&self, transaction: &Transaction<'_>) -> Result<Option<Position>, Error> {
        let sql = "SELECT position FROM dcb_checkpoint WHERE name = ?1";
        let stored: Option<i64> = transaction
            .query_row(sql, [self.name], |row| row.get(0))
            .optional()
            .map_err(|failed| error(&failed))?;
        Ok(stored.map(i64::unsigned_abs).and_then(Position::new))
    }

    fn apply(
        &mut self,
        transaction: &Transaction<'_>,
        batch: &EventBatch,
        checkpoint: Option<Position>,
    ) -> Result<(), Error> {
        let stored = self.stored(transaction)?;
        if stored != checkpoint {
            return Err(Error::CheckpointMoved {
                name: self.name.to_owned(),
                expected: checkpoint,
                actual: stored,
            });
        }
        self.set(transaction, Some(batch.through))?;
        if batch.events.is_empty() {
            return Ok(());
        }
        let handled = self.handler.handle(transaction, &batch.events);
        handled.map_err(|failed| handler_error(self.name, failed))
    }

    fn reset(&mut self, transaction: &Transaction<'_>) -> Result<(), Error> {
        self.set(transaction, None)?;
        let emptied = self.handler.reset(transaction);
        emptied.map_err(|failed| handler_error(self.name, failed))
    }

    fn set(&self, transaction: &Transaction<'_>, position: Option<Position>) -> Result<(), Error> {
        let number = i64::try_from(Position::number_or_zero(position)).unwrap_or(i64::MAX);
        let sql = "INSERT INTO dcb_checkpoint (name, position) VALUES (?1, ?2) \
            ON CONFLICT (name) DO UPDATE SET position = excluded.position";
        let set = transaction.execute(sql, (self.name, number));
        set.map(|_| ()).map_err(|failed| error(&failed))
    }
}

/// What a handler met in its file is told like what the store met, where trying again may mend it.
fn handler_error(name: &str, failed: HandlerError) -> Error {
    let met = failed.downcast_ref::<rusqlite::Error>();
    match met.filter(|met| is_busy(met)) {
        Some(busy) => error(busy),
        None => Error::Handler {
            name: name.to_owned(),
            source: failed.into(),
        },
    }
}

impl<H: Handler> ReadModel for SqliteReadModel<H> {
    async fn checkpoint(&mut self) -> Result<Option<Position>, Error> {
        self.call(|state| state.transact(|step, transaction| step.stored(transaction)))
            .await
    }

    async fn apply(
        &mut self,
        batch: Arc<EventBatch>,
        checkpoint: Option<Position>,
    ) -> Result<(), Error> {
        self.call(move |state| {
            state.transact(|step, transaction| step.apply(transaction, &batch, checkpoint))
        })
        .await
    }

    async fn reset(&mut self) -> Result<(), Error> {
        self.call(|state| state.transact(|step, transaction| step.reset(transaction)))
            .await
    }
}

impl<H> std::fmt::Debug for SqliteReadModel<H> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SqliteReadModel")
            .finish_non_exhaustive()
    }
}
