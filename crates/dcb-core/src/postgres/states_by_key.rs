//! States by key in a table of PostgreSQL.

use std::collections::HashMap;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Row as _, SqlSafeStr as _, SqlStr};

use super::error::error;
use super::read_model::Handler;
use super::store::PostgresStore;
use crate::states_by_key::StateRows;
use crate::{Error, HandlerError, SequencedEvent, StateReader, StatesByKey};

/// Two transactions that create one table at once would collide, so the lock lets one do so. A statement without
/// parameters costs one round trip.
const CREATE: &str = "\
    DO $$ BEGIN \
        IF to_regclass('@') IS NULL THEN \
            PERFORM pg_advisory_xact_lock(hashtextextended('@', 0)); \
            CREATE TABLE IF NOT EXISTS @ (key text COLLATE \"C\" PRIMARY KEY, state json NOT NULL); \
        END IF; \
    END $$";
const LOAD: &str = "SELECT key, state::text FROM @ WHERE key = ANY ($1)";
const STORE: &str = "\
    WITH gone AS (DELETE FROM @ WHERE key = ANY ($3)) \
    INSERT INTO @ (key, state) SELECT key, state::json FROM unnest($1::text[], $2::text[]) AS _ (key, state) \
    ON CONFLICT (key) DO UPDATE SET state = excluded.state";
const GET: &str = "SELECT key, state::text FROM @ WHERE key = $1";
/// Begins at $1, without $2.
const LIST: &str = "\
    SELECT key, state::text FROM @ WHERE key >= $1 AND key IS DISTINCT FROM $2 ORDER BY key LIMIT $3";
/// The code of PostgreSQL for a table that does not exist.
const UNDEFINED_TABLE: &str = "42P01";

/// A statement for this table.
fn sql<S>(states: &StatesByKey<S>, text: &str) -> SqlStr {
    // The SQL is safe: only the name of the table is inserted, which has no special characters.
    AssertSqlSafe(text.replace('@', &states.quoted())).into_sql_str()
}

async fn create<S>(
    states: &StatesByKey<S>,
    transaction: &mut PgConnection,
) -> Result<(), sqlx::Error> {
    let create = sqlx::raw_sql(sql(states, CREATE));
    create.execute(transaction).await.map(drop)
}

// The statements have no names, because the connection may lead to a pooler.
impl<S: Send + Sync> Handler for StatesByKey<S> {
    async fn handle(
        &mut self,
        transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        let by_key = self.by_key(events)?;
        if by_key.is_empty() {
            return Ok(());
        }
        create(self, transaction).await?;
        let keys: Vec<&String> = by_key.keys().collect();
        let load = sqlx::query(sql(self, LOAD)).persistent(false).bind(keys);
        let rows = load.fetch_all(&mut *transaction).await?;
        let before: HashMap<_, _> = rows.iter().map(row).collect::<Result<_, _>>()?;
        let (mut keys, mut texts, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for (key, events) in by_key {
            match self.fold(&key, before.get(&key).map(String::as_str), &events)? {
                Some(text) => {
                    keys.push(key);
                    texts.push(text);
                }
                None => gone.push(key),
            }
        }
        let store = sqlx::query(sql(self, STORE)).persistent(false);
        let store = store.bind(keys).bind(texts).bind(gone);
        store.execute(transaction).await?;
        Ok(())
    }

    async fn reset(&mut self, transaction: &mut PgConnection) -> Result<(), HandlerError> {
        create(self, transaction).await?;
        let empty = sqlx::query(sql(self, "TRUNCATE @")).persistent(false);
        empty.execute(transaction).await?;
        Ok(())
    }
}

/// The key and the text of its state.
fn row(row: &PgRow) -> Result<(String, String), sqlx::Error> {
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// A table of states, which a store's connections read.
struct Table {
    store: PostgresStore,
    get: SqlStr,
    list: SqlStr,
}

impl Table {
    async fn rows(
        &self,
        statement: impl Fn() -> postgres_store::Bound<'static> + Sync,
    ) -> Result<Vec<(String, String)>, Error> {
        let readers = &self.store.shared.readers;
        let read = readers.read(|readers| readers.rows(&statement)).await;
        match read {
            Ok(rows) => {
                let rows = rows.iter().map(row).collect::<Result<_, _>>();
                rows.map_err(|failed| error(&failed))
            }
            Err(Error::Fault(fault)) if fault.code() == Some(UNDEFINED_TABLE) => Ok(Vec::new()),
            Err(failed) => Err(failed),
        }
    }
}

impl StateRows for Table {
    fn get(&self, key: String) -> BoxFuture<'_, Result<Option<String>, Error>> {
        async move {
            let statement = || sqlx::query(self.get.clone()).bind(key.clone());
            let rows = self.rows(statement).await?;
            Ok(rows.into_iter().next().map(|(_, state)| state))
        }
        .boxed()
    }

    fn list(
        &self,
        after: Option<String>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<(String, String)>, Error>> {
        async move {
            let statement = || {
                let list = sqlx::query(self.list.clone());
                let list = list.bind(after.clone().unwrap_or_default());
                list.bind(after.clone()).bind(i64::from(limit))
            };
            self.rows(statement).await
        }
        .boxed()
    }
}

impl<S: Clone + DeserializeOwned> StateReader<S> {
    /// Reads states in PostgreSQL over the read connections of `store`, whose database has the table. For a read
    /// model in another database than the log's, connect a store there.
    pub fn postgres(store: &PostgresStore, states: &StatesByKey<S>) -> Self {
        let table = Table {
            store: store.clone(),
            get: sql(states, GET),
            list: sql(states, LIST),
        };
        Self::new(states, table)
    }
}
