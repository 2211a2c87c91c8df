//! Sliced projections in SQLite. The file has one writer at a time, so the workers of all members take
//! turns: a transaction that begins holds the write lock, and needs no other lock.

mod apply;
mod claims;
mod projections;
mod replay;
mod reset;
mod versions;

use std::fmt;
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, Params, Row, Transaction};
use uuid::Uuid;

use super::config::Config;
use super::error::error;
use super::read_model::{Handler, SqliteReadModel};
use crate::slices::model::{Held, Model};
use crate::slices::share::Share;
use crate::slices::standing::Meet;
use crate::{Error, Position, SequencedEvent};

pub use projections::Projections;

const TABLES: &str = concat!(
    include_str!("../../../schema/sqlite/tables/dcb_projection.sql"),
    include_str!("../../../schema/sqlite/tables/dcb_projection_slice.sql"),
    include_str!("../../../schema/sqlite/tables/dcb_projection_member.sql"),
    include_str!("../../../schema/sqlite/tables/dcb_projection_event.sql"),
);

/// A version of a sliced projection with tables in a SQLite file, the log's or another.
///
/// The checkpoints are beside them, in tables that are created if they do not exist. The file has one
/// writer at a time: several workers and members share the folding, and take turns to write.
pub struct SlicedReadModel<H> {
    model: SqliteReadModel<H>,
    version: Version,
    handler: H,
}

/// A version by its name and number.
#[derive(Clone)]
struct Version {
    name: String,
    number: u32,
}

impl<H: Handler + Clone> SlicedReadModel<H> {
    /// The version of the projection `name`, of 1 to 255 characters, whose tables and checkpoints are in
    /// the file of `config`. It uses only `location`, `durability` and `read_timeout`, which limits the
    /// wait for other writers of the file.
    ///
    /// # Errors
    /// Those of [`SqliteReadModel::new`].
    pub fn new(
        config: Config,
        name: impl Into<String>,
        version: u32,
        handler: H,
    ) -> Result<Self, Error> {
        let name = name.into();
        let model = SqliteReadModel::new(config, name.clone(), handler.clone())?;
        Ok(Self::with(model, name, version, handler))
    }

    /// The version on a connection that you share with it, as
    /// [`SqliteReadModel::on_connection`] does.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `name`.
    pub fn on_connection(
        connection: Arc<Mutex<Connection>>,
        name: impl Into<String>,
        version: u32,
        handler: H,
    ) -> Result<Self, Error> {
        let name = name.into();
        let model = SqliteReadModel::on_connection(connection, name.clone(), handler.clone())?;
        Ok(Self::with(model, name, version, handler))
    }

    fn with(model: SqliteReadModel<H>, name: String, number: u32, handler: H) -> Self {
        Self {
            model,
            version: Version { name, number },
            handler,
        }
    }

    /// Runs a call in one transaction, on a thread that may block.
    async fn transact<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Version, &Transaction<'_>, &mut H) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let version = self.version.clone();
        self.model
            .transact(move |transaction, handler| {
                transaction
                    .execute_batch(TABLES)
                    .map_err(|failed| error(&failed))?;
                work(&version, transaction, handler)
            })
            .await
    }
}

impl Version {
    fn title(&self) -> String {
        format!("{} version {}", self.name, self.number)
    }

    /// Another version of the projection.
    fn numbered(&self, number: u32) -> Self {
        Self {
            number,
            ..self.clone()
        }
    }

    fn superseded(&self) -> Error {
        Error::Superseded {
            name: self.name.clone(),
            version: self.number,
        }
    }

    /// A slice has another epoch or position than its holder knows.
    fn moved(&self) -> Error {
        Error::CheckpointMoved {
            name: self.title(),
            expected: None,
            actual: None,
        }
    }
}

impl<H: Handler + Clone + Sync> Model for SlicedReadModel<H> {
    fn name_and_version(&self) -> (&str, u32) {
        (&self.version.name, self.version.number)
    }

    async fn open(&mut self, slices: u32) -> Result<(), Error> {
        self.transact(move |version, transaction, handler| {
            version.open(transaction, handler, slices)
        })
        .await
    }

    async fn beat(&mut self, member: Uuid) -> Result<Held, Error> {
        self.transact(move |version, transaction, _| version.beat(transaction, member))
            .await
    }

    async fn give_back(&mut self, member: Uuid, keep: usize) -> Result<(), Error> {
        self.transact(move |version, transaction, _| version.give_back(transaction, member, keep))
            .await
    }

    async fn apply(&mut self, share: Arc<Share>) -> Result<(), Error> {
        self.transact(move |version, transaction, handler| {
            version.apply(transaction, handler, &share)
        })
        .await
    }

    async fn set_aside(
        &mut self,
        share: Arc<Share>,
        parked: bool,
        cause: &str,
    ) -> Result<(), Error> {
        let cause = cause.to_owned();
        self.transact(move |version, transaction, _| {
            version.set_aside(transaction, &share, parked, &cause)
        })
        .await
    }

    async fn stop(&mut self, share: Arc<Share>, cause: &str) -> Result<(), Error> {
        let cause = cause.to_owned();
        self.transact(move |version, transaction, _| version.stop(transaction, &share, &cause))
            .await
    }

    async fn try_to_promote(&mut self, meet: Meet) -> Result<bool, Error> {
        self.transact(move |version, transaction, handler| {
            version.try_to_promote(transaction, handler, meet)
        })
        .await
    }

    async fn throw_away(&mut self) -> Result<(), Error> {
        self.transact(|version, transaction, handler| version.throw_away(transaction, handler))
            .await
    }

    async fn next_parked(&mut self, key: &str) -> Result<Option<Position>, Error> {
        let key = key.to_owned();
        self.transact(move |version, transaction, _| version.next_parked(transaction, &key))
            .await
    }

    async fn replay_one(&mut self, event: SequencedEvent) -> Result<bool, Error> {
        self.transact(move |version, transaction, handler| {
            version.replay_one(transaction, handler, event)
        })
        .await
    }
}

/// The rows of a statement.
fn rows<T>(
    transaction: &Transaction<'_>,
    sql: &str,
    parameters: impl Params,
    row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, Error> {
    let read = || -> rusqlite::Result<Vec<T>> {
        let mut statement = transaction.prepare_cached(sql)?;
        statement.query_map(parameters, row)?.collect()
    };
    read().map_err(|failed| error(&failed))
}

/// Runs a statement, and returns the number of rows that it changed.
fn run(transaction: &Transaction<'_>, sql: &str, parameters: impl Params) -> Result<usize, Error> {
    let statement = transaction.prepare_cached(sql);
    let done = statement.and_then(|mut statement| statement.execute(parameters));
    done.map_err(|failed| error(&failed))
}

impl<H: Clone> Clone for SlicedReadModel<H>
where
    H: Handler,
{
    fn clone(&self) -> Self {
        Self {
            model: self.model.beside(self.handler.clone()),
            version: self.version.clone(),
            handler: self.handler.clone(),
        }
    }
}

impl<H> fmt::Debug for SlicedReadModel<H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SlicedReadModel")
            .field("name", &self.version.name)
            .field("version", &self.version.number)
            .finish_non_exhaustive()
    }
}
