//! A read model in the caller's SQLite tables.
//!
//! A batch updates the tables and the checkpoint in one transaction, and only if the stored checkpoint
//! is the one that the runner expects. `tests/it/runner/sqlite.rs` fails without this.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};
use sqlite_store::{Location, OpenedFile, is_busy, read_only_file};
use tokio::task::spawn_blocking;
use tracing::Span;

use super::config::Config;
use super::error::error;
use super::session;
use crate::text::{check, invalid};
use crate::{
    Bookmark, Error, EventBatch, Fault, HandlerError, Position, Problem, ReadModel, SequencedEvent,
};

const TABLE: &str = include_str!("../../schema/sqlite/tables/dcb_checkpoint.sql");

/// Applies events to the tables of a [`SqliteReadModel`]. Its methods run on a thread that may block.
///
/// Keep all state in the file. After a rollback the same batch is applied again, but state in memory
/// would not have been rolled back.
pub trait Handler: Send + 'static {
    /// Applies events, at least one, in order.
    ///
    /// # Errors
    /// Any error rolls the batch back. If it is a `rusqlite::Error` that says that the file is busy or
    /// locked, the runner retries the batch. Any other error ends the run.
    fn handle(
        &mut self,
        transaction: &Transaction<'_>,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError>;

    /// Reacts to the events that were just handled, in the same transaction: for side effects such as
    /// messages, which must happen once even if a new version of the projection handles the same events
    /// again. A version that is built beside the current one does not react. Default: does nothing.
    ///
    /// # Errors
    /// As [`Handler::handle`].
    fn react(
        &mut self,
        transaction: &Transaction<'_>,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        let _ = (transaction, events);
        Ok(())
    }

    /// Shows the tables of this version to readers, in the transaction that makes it the current one:
    /// for example, replaces a view. Default: does nothing.
    ///
    /// # Errors
    /// Any error keeps the other version in its place.
    fn make_current(&mut self, transaction: &Transaction<'_>) -> Result<(), HandlerError> {
        let _ = transaction;
        Ok(())
    }

    /// Empties the tables.
    ///
    /// # Errors
    /// Any error rolls the reset back.
    fn reset(&mut self, transaction: &Transaction<'_>) -> Result<(), HandlerError>;
}

/// A [`ReadModel`] with tables in an SQLite file, either the log's or another one, or
/// [in memory](SqliteReadModel::on_connection).
///
/// The checkpoint is a row of the table `dcb_checkpoint` beside them, which is created if it does not
/// exist. A batch is one transaction in one task on tokio's blocking pool. If its future is dropped,
/// the batch may still be committed.
pub struct SqliteReadModel<H> {
    state: Arc<Mutex<State<H>>>,
}

struct State<H> {
    config: Config,
    name: String,
    handler: H,
    opened: Option<Opened>,
}

enum Opened {
    File(Connection, OpenedFile),
    /// A connection that the caller uses too.
    Shared(Arc<Mutex<Connection>>),
}

impl<H: Handler> SqliteReadModel<H> {
    /// Creates the read model `name`, whose tables and checkpoint are in the file of `config`. A
    /// name has 1 to 255 characters.
    ///
    /// It uses only `location`, `durability` and `read_timeout`, which
    /// limits the wait for other writers of the file.
    ///
    /// # Errors
    /// [`Fault::ReadOnlyFile`] if `config` allows only reads;
    /// [`Error::Invalid`] with field `location` if it is not a file, or with field `name`;
    /// [`Fault::Unreachable`] if the path is relative and the current directory does not exist. For a
    /// read model in memory, use [`SqliteReadModel::on_connection`].
    pub fn new(mut config: Config, name: impl Into<String>, handler: H) -> Result<Self, Error> {
        match &config.location {
            Location::File(path) if config.read_only => {
                return Err(read_only_file(path, "it is configured only for reads").into());
            }
            Location::File(path) if !path.as_os_str().is_empty() => config.normalize()?,
            _ => return Err(invalid("location")(Problem::Empty)),
        }
        Self::with_state(config, name.into(), handler, None)
    }

    /// Creates the read model `name` on a connection that you share with it. A database in memory
    /// belongs to one connection, so this is the way to keep a read model there, beside a store in
    /// memory:
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::sync::{Arc, Mutex};
    ///
    /// use dcb_core::sqlite::{Handler, SqliteReadModel, Transaction};
    /// use dcb_core::{
    ///     Event, EventStore, HandlerError, MemoryStore, ProjectionRunner, Query, SequencedEvent,
    /// };
    /// use rusqlite::Connection;
    ///
    /// /// Counts the bookings.
    /// struct Count;
    ///
    /// impl Handler for Count {
    ///     fn handle(
    ///         &mut self,
    ///         tables: &Transaction<'_>,
    ///         events: &[SequencedEvent],
    ///     ) -> Result<(), HandlerError> {
    ///         tables.execute("UPDATE bookings SET number = number + ?1", [events.len() as i64])?;
    ///         Ok(())
    ///     }
    ///
    ///     fn reset(&mut self, tables: &Transaction<'_>) -> Result<(), HandlerError> {
    ///         tables.execute("UPDATE bookings SET number = 0", [])?;
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let tables = Connection::open_in_memory()?;
    /// tables.execute_batch("CREATE TABLE bookings (number); INSERT INTO bookings VALUES (0)")?;
    /// let tables = Arc::new(Mutex::new(tables));
    ///
    /// let store = MemoryStore::new();
    /// store.append(Event::builder("RoomBooked").build()?).await?;
    /// let model = SqliteReadModel::on_connection(Arc::clone(&tables), "bookings", Count)?;
    /// ProjectionRunner::new(store, Query::all(), model).catch_up().await?;
    ///
    /// let number = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
    /// let tables = tables.lock().map_err(|_| "a handler panicked")?;
    /// assert_eq!(tables.query_row("SELECT number FROM bookings", [], number)?, 1);
    /// # Ok(()) }
    /// ```
    ///
    /// While a batch is applied, the connection is locked. Lock it for short reads, and without a
    /// transaction that stays open.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `name`, which has 1 to 255 characters.
    pub fn on_connection(
        connection: Arc<Mutex<Connection>>,
        name: impl Into<String>,
        handler: H,
    ) -> Result<Self, Error> {
        let opened = Some(Opened::Shared(connection));
        Self::with_state(Config::memory(), name.into(), handler, opened)
    }

    fn with_state(
        config: Config,
        name: String,
        handler: H,
        opened: Option<Opened>,
    ) -> Result<Self, Error> {
        const MAX_CHARS: usize = 255;
        check(&name, MAX_CHARS).map_err(invalid("name"))?;
        let state = State {
            config,
            name,
            handler,
            opened,
        };
        Ok(Self {
            state: Arc::new(Mutex::new(state)),
        })
    }

    /// The same read model on a new connection, or on the shared one, with this handler.
    pub(super) fn beside(&self, handler: H) -> Self {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = match &state.opened {
            Some(Opened::Shared(connection)) => Some(Opened::Shared(Arc::clone(connection))),
            _ => None,
        };
        let state = State {
            config: state.config.clone(),
            name: state.name.clone(),
            handler,
            opened,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Runs `work` with the handler in a transaction that holds the file's write lock.
    pub(super) async fn transact<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>, &mut H) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.call(|state| state.transact(|named, transaction| work(transaction, named.handler)))
            .await
    }

    async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut State<H>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let state = Arc::clone(&self.state);
        let span = Span::current();
        // Ignoring poison is safe: a panic rolls the transaction back.
        let called = spawn_blocking(move || {
            span.in_scope(|| work(&mut state.lock().unwrap_or_else(PoisonError::into_inner)))
        });
        match called.await {
            Ok(done) => done,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime was shut down before the task started.
                Err(_) => Err(Fault::Closed.into()),
            },
        }
    }
}

impl<H: Handler> State<H> {
    /// Runs `work` in a transaction that holds the file's write lock.
    fn transact<T>(
        &mut self,
        work: impl FnOnce(&mut NamedHandler<'_, H>, &Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let opened = match &mut self.opened {
            Some(opened) => opened,
            // Opened on first use, because `new` runs on a thread that must not block.
            none => none.insert(open(&self.config)?),
        };
        let mut handler = NamedHandler {
            name: &self.name,
            handler: &mut self.handler,
        };
        let connection = match opened {
            Opened::File(connection, file) => {
                return in_transaction(connection, Some(file), |transaction| {
                    work(&mut handler, transaction)
                });
            }
            Opened::Shared(connection) => connection,
        };
        // Ignoring poison is safe: SQLite is consistent after a panic of the caller.
        let mut shared = connection.lock().unwrap_or_else(PoisonError::into_inner);
        // A panic of the handler rolls the transaction back, and must not poison the caller's lock.
        let done = catch_unwind(AssertUnwindSafe(|| {
            create_table(&shared)?;
            in_transaction(&mut shared, None, |transaction| {
                work(&mut handler, transaction)
            })
        }));
        drop(shared);
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// Runs `work` in a transaction that holds the write lock.
fn in_transaction<T>(
    connection: &mut Connection,
    file: Option<&OpenedFile>,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let transaction = connection
        // Take the write lock now, because a transaction that reads first may fail to get it
        // later.
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|failed| error(&failed))?;
    let done = work(&transaction)?;
    // SQLite would commit to a file that was moved or removed.
    if let Some(file) = file {
        file.check()?;
    }
    transaction.commit().map_err(|failed| error(&failed))?;
    Ok(done)
}

/// Opens the file and creates the checkpoint table if it does not exist.
fn open(config: &Config) -> Result<Opened, Error> {
    let Location::File(path) = &config.location else {
        return Err(invalid("location")(Problem::Empty));
    };
    let connection = session::plain(config).map_err(|failed| error(&failed))?;
    create_table(&connection)?;
    let file = OpenedFile::at(path)?;
    Ok(Opened::File(connection, file))
}

fn create_table(connection: &Connection) -> Result<(), Error> {
    upgrade(connection).map_err(|failed| error(&failed))
}

/// Creates the table, or adds the column that older versions did not have.
fn upgrade(connection: &Connection) -> rusqlite::Result<()> {
    // Without a transaction, another process could add the column after the look.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLE)?;
    let columns =
        "SELECT count(*) FROM pragma_table_info('dcb_checkpoint') WHERE name = 'bookmark'";
    let found: i64 = transaction.query_row(columns, [], |row| row.get(0))?;
    if found == 0 {
        transaction.execute_batch("ALTER TABLE dcb_checkpoint ADD COLUMN bookmark TEXT")?;
    }
    transaction.commit()
}

/// A handler with the name of its checkpoint.
struct NamedHandler<'s, H> {
    name: &'s str,
    handler: &'s mut H,
}

impl<H: Handler> NamedHandler<'_, H> {
    fn checkpoint(&self, transaction: &Transaction<'_>) -> Result<Option<Bookmark>, Error> {
        let sql = "SELECT position, bookmark FROM dcb_checkpoint WHERE name = ?1";
        let stored: Option<(i64, Option<String>)> = transaction
            .query_row(sql, [self.name], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .map_err(|failed| error(&failed))?;
        Ok(stored.and_then(|(position, bookmark)| bookmark_of(position, bookmark.as_deref())))
    }

    fn apply(
        &mut self,
        transaction: &Transaction<'_>,
        batch: &EventBatch,
        checkpoint: Option<Bookmark>,
    ) -> Result<(), Error> {
        let stored = self.checkpoint(transaction)?;
        if stored != checkpoint {
            return Err(Error::CheckpointMoved {
                name: self.name.to_owned(),
                expected: checkpoint,
                actual: stored,
            });
        }
        self.set_checkpoint(transaction, Some(batch.through))?;
        if batch.events.is_empty() {
            return Ok(());
        }
        let handled = handle(self.handler, transaction, &batch.events, true);
        handled.map_err(|failed| handler_error(self.name, failed))
    }

    fn reset(&mut self, transaction: &Transaction<'_>) -> Result<(), Error> {
        self.set_checkpoint(transaction, None)?;
        let emptied = self.handler.reset(transaction);
        emptied.map_err(|failed| handler_error(self.name, failed))
    }

    fn set_checkpoint(
        &self,
        transaction: &Transaction<'_>,
        checkpoint: Option<Bookmark>,
    ) -> Result<(), Error> {
        let number = number(checkpoint);
        let bookmark = checkpoint.map(|checkpoint| checkpoint.to_string());
        let sql = "INSERT INTO dcb_checkpoint (name, position, bookmark) VALUES (?1, ?2, ?3) \
            ON CONFLICT (name) \
            DO UPDATE SET position = excluded.position, bookmark = excluded.bookmark";
        let set = transaction.execute(sql, (self.name, number, bookmark));
        set.map(|_| ()).map_err(|failed| error(&failed))
    }
}

/// Handles events, and reacts to them if the version is the current one.
pub(super) fn handle(
    handler: &mut impl Handler,
    transaction: &Transaction<'_>,
    events: &[SequencedEvent],
    reacts: bool,
) -> Result<(), HandlerError> {
    handler.handle(transaction, events)?;
    match reacts {
        true => handler.react(transaction, events),
        false => Ok(()),
    }
}

/// A checkpoint as it is stored: 0 at the beginning.
pub(super) fn bookmark_of(position: i64, text: Option<&str>) -> Option<Bookmark> {
    let position = Position::new(position.unsigned_abs())?;
    Some(Bookmark::stored(position, text))
}

pub(super) fn number(bookmark: Option<Bookmark>) -> i64 {
    let position = Position::number_or_zero(Bookmark::position_of(bookmark));
    i64::try_from(position).unwrap_or(i64::MAX)
}

/// The store's error for a failed handler. A busy file becomes a transient error, so that the runner
/// retries the batch.
pub(super) fn handler_error(name: &str, failed: HandlerError) -> Error {
    let sqlite = failed.downcast_ref::<rusqlite::Error>();
    match sqlite.filter(|sqlite| is_busy(sqlite)) {
        Some(busy) => error(busy),
        None => Error::Handler {
            name: name.to_owned(),
            source: failed.into(),
        },
    }
}

impl<H: Handler> ReadModel for SqliteReadModel<H> {
    async fn checkpoint(&mut self) -> Result<Option<Bookmark>, Error> {
        self.call(|state| state.transact(|handler, transaction| handler.checkpoint(transaction)))
            .await
    }

    async fn apply(
        &mut self,
        batch: Arc<EventBatch>,
        checkpoint: Option<Bookmark>,
    ) -> Result<(), Error> {
        self.call(move |state| {
            state.transact(|handler, transaction| handler.apply(transaction, &batch, checkpoint))
        })
        .await
    }

    async fn reset(&mut self) -> Result<(), Error> {
        self.call(|state| state.transact(|handler, transaction| handler.reset(transaction)))
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
