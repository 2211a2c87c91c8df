//! The states of decisions in `dcb.kept_state`.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use super::PostgresStore;
use super::error::error;
use crate::Error;
use crate::kept_states::{StateKey, StateRow, StateTable, StoredState};

impl StateTable for PostgresStore {
    fn load(&self, key: StateKey) -> BoxFuture<'_, Result<Option<StoredState>, Error>> {
        let sql = &self.shared.statements.load_state;
        async move {
            let statement = || {
                sqlx::query(sql.clone())
                    .bind(key.name.clone())
                    .bind(key.version)
                    .bind(key.boundary.clone())
            };
            let read = self.shared.readers.read(|readers| readers.rows(statement));
            let rows = read.await?;
            Ok(rows.first().map(|row| state(row, 0)).transpose()?.flatten())
        }
        .boxed()
    }

    fn open(&self, key: StateKey) -> BoxFuture<'_, Result<Option<StateRow>, Error>> {
        let sql = &self.shared.statements.open_state;
        let generation = Uuid::now_v7().to_string();
        async move {
            let statement = || {
                sqlx::query(sql.clone())
                    .bind(key.name.clone())
                    .bind(key.version)
                    .bind(key.boundary.clone())
                    .bind(generation.clone())
            };
            let opened = self
                .shared
                .readers
                .on_primary(|readers| readers.rows(statement));
            let rows = opened.await?;
            rows.first().map(row).transpose()
        }
        .boxed()
    }

    fn store(
        &self,
        key: StateKey,
        row: StateRow,
        state: StoredState,
    ) -> BoxFuture<'_, Result<bool, Error>> {
        let sql = &self.shared.statements.store_state;
        let before = row.state.map(|state| state.bookmark);
        async move {
            let statement = || {
                sqlx::query(sql.clone())
                    .bind(key.name.clone())
                    .bind(key.version)
                    .bind(key.boundary.clone())
                    .bind(row.generation.clone())
                    .bind(before.clone())
                    .bind(state.bookmark.clone())
                    .bind(state.text.clone())
                    .bind(StateKey::DELETED_ROWS)
            };
            let stored = self
                .shared
                .readers
                .on_primary(|readers| readers.rows(statement));
            Ok(!stored.await?.is_empty())
        }
        .boxed()
    }
}

fn row(row: &PgRow) -> Result<StateRow, Error> {
    Ok(StateRow {
        generation: row.try_get(0).map_err(|failed| error(&failed))?,
        state: state(row, 1)?,
    })
}

/// The state in two columns; `None` if no state was stored yet.
fn state(row: &PgRow, column: usize) -> Result<Option<StoredState>, Error> {
    let text = |column| {
        let text: Result<Option<String>, _> = row.try_get(column);
        text.map_err(|failed| error(&failed))
    };
    let (bookmark, state) = (text(column)?, text(column + 1)?);
    let both = bookmark.zip(state);
    Ok(both.map(|(bookmark, text)| StoredState { bookmark, text }))
}
