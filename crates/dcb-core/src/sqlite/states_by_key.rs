//! States by key in a table of SQLite.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rusqlite::{Connection, OptionalExtension as _, Params, Result as SqlResult, Transaction};
use serde::de::DeserializeOwned;
use sqlite_store::in_background;
use store_meter::Holder;

use super::blocking::BlockingSqliteStore;
use super::error::error;
use super::read_model::Handler;
use super::store::SqliteStore;
use crate::states_by_key::StateRows;
use crate::text::invalid;
use crate::{Error, Fault, HandlerError, Problem, SequencedEvent, StateReader, StatesByKey};

const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS @ (key TEXT PRIMARY KEY NOT NULL, state TEXT NOT NULL)";
const STORE: &str = "\
    INSERT INTO @ (key, state) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET state = excluded.state";
const DELETE: &str = "DELETE FROM @ WHERE key = ?1";
const EXISTS: &str = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1";
const GET: &str = "SELECT key, state FROM @ WHERE key = ?1";
/// Begins at ?1, without ?2.
const LIST: &str =
    "SELECT key, state FROM @ WHERE key >= ?1 AND key IS NOT ?2 ORDER BY key LIMIT ?3";

/// A statement for this table.
fn sql<S>(states: &StatesByKey<S>, text: &str) -> String {
    text.replace('@', &states.quoted())
}

impl<S: Send + 'static> Handler for StatesByKey<S> {
    fn handle(
        &mut self,
        transaction: &Transaction<'_>,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        transaction.execute(&sql(self, CREATE), [])?;
        let mut get = transaction.prepare_cached(&sql(self, GET))?;
        let mut store = transaction.prepare_cached(&sql(self, STORE))?;
        let mut delete = transaction.prepare_cached(&sql(self, DELETE))?;
        for (key, events) in self.by_key(events)? {
            let before: Option<String> = get.query_row([&key], |row| row.get(1)).optional()?;
            match self.fold(&key, before.as_deref(), &events)? {
                Some(text) => store.execute([&key, &text])?,
                None => delete.execute([&key])?,
            };
        }
        Ok(())
    }

    fn reset(&mut self, transaction: &Transaction<'_>) -> Result<(), HandlerError> {
        for text in [CREATE, "DELETE FROM @"] {
            transaction.execute(&sql(self, text), [])?;
        }
        Ok(())
    }
}

/// A table of states.
struct Table {
    place: Place,
    name: String,
    get: String,
    list: String,
}

enum Place {
    /// The file of a log, which its connections read.
    File(SqliteStore),
    /// A connection that the caller uses too.
    Shared(Arc<Mutex<Connection>>),
}

impl Table {
    fn new<S>(place: Place, states: &StatesByKey<S>) -> Self {
        Self {
            place,
            name: states.table().to_owned(),
            get: sql(states, GET),
            list: sql(states, LIST),
        }
    }

    async fn rows(
        &self,
        sql: &str,
        parameters: impl Params + Send + 'static,
    ) -> Result<Vec<(String, String)>, Error> {
        let (table, sql) = (self.name.clone(), sql.to_owned());
        let read = move |connection: &Connection| {
            let rows = rows(connection, &table, &sql, parameters);
            rows.map_err(|failed| error(&failed))
        };
        match &self.place {
            Place::File(store) => {
                let read = |store: &BlockingSqliteStore| store.log.read(Holder::Page, read);
                store.call(read).await
            }
            Place::Shared(connection) => {
                let connection = Arc::clone(connection);
                // Ignoring poison is safe: SQLite is consistent after a panic of the caller.
                let read = move || read(&connection.lock().unwrap_or_else(PoisonError::into_inner));
                let read = in_background(read).await;
                read.unwrap_or(Err(Fault::Closed.into()))
            }
        }
    }
}

fn rows(
    connection: &Connection,
    table: &str,
    sql: &str,
    parameters: impl Params,
) -> SqlResult<Vec<(String, String)>> {
    // Not `Connection::table_exists`: it does not see a table that another connection has created.
    let mut exists = connection.prepare_cached(EXISTS)?;
    if !exists.exists([table])? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(parameters, |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

impl StateRows for Table {
    fn get(&self, key: String) -> BoxFuture<'_, Result<Option<String>, Error>> {
        async move {
            let rows = self.rows(&self.get, [key]).await?;
            Ok(rows.into_iter().next().map(|(_, state)| state))
        }
        .boxed()
    }

    fn list(
        &self,
        after: Option<String>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<(String, String)>, Error>> {
        let from = after.clone().unwrap_or_default();
        self.rows(&self.list, (from, after, limit)).boxed()
    }
}

impl<S: Clone + DeserializeOwned> StateReader<S> {
    /// Reads states in the file of `store`, over its read connections.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `store` if it is in memory, where no read model can be. Use
    /// [`StateReader::on_connection`].
    pub fn sqlite(store: &SqliteStore, states: &StatesByKey<S>) -> Result<Self, Error> {
        if store.blocking().log.is_in_memory() {
            return Err(invalid("store")(Problem::malformed("it is in memory")));
        }
        let table = Table::new(Place::File(store.clone()), states);
        Ok(Self::new(states, table))
    }

    /// Reads states over a connection that you share with it: that of
    /// [`SqliteReadModel::on_connection`](crate::sqlite::SqliteReadModel::on_connection), or one to the read model's
    /// own file.
    pub fn on_connection(connection: Arc<Mutex<Connection>>, states: &StatesByKey<S>) -> Self {
        Self::new(states, Table::new(Place::Shared(connection), states))
    }
}
