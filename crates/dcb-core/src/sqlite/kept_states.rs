//! The states of decisions in `dcb_kept_state`.

use std::thread;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rusqlite::{Connection, OptionalExtension as _, Result as SqlResult, Row};
use store_meter::Holder;
use uuid::Uuid;

use super::SqliteStore;
use super::blocking::BlockingSqliteStore;
use super::error::error;
use super::log::Log;
use super::statements::{DELETE_OLD_STATES, INSERT_STATE, LOAD_STATE, OPEN_STATE, STORE_STATE};
use crate::kept_states::{Refreshed, StateKey, StateRow, StateTable, StoredState, to_store};
use crate::lane::Storing;
use crate::{Error, Reads, StoredFold};

impl Log {
    /// Whether the log has a file, in which its states outlive the process.
    pub(super) fn keeps_states(&self) -> bool {
        !self.is_in_memory()
    }

    /// The state of this boundary in the file; `None` if the log keeps none.
    pub(super) fn load_state(&self, reads: &Reads) -> Option<Result<Option<StoredState>, Error>> {
        let key = StateKey::new(reads, &[]).filter(|_| self.keeps_states())?;
        Some(self.load(&key))
    }

    fn load(&self, key: &StateKey) -> Result<Option<StoredState>, Error> {
        let load = |connection: &Connection| {
            let mut load = connection.prepare_cached(LOAD_STATE)?;
            let key = (&key.name, key.version, &key.boundary);
            let loaded = load.query_row(key, |row| state(row, 0)).optional();
            loaded.map(Option::flatten)
        };
        self.read(Holder::Page, |connection| {
            load(connection).map_err(|failed| error(&failed))
        })
    }

    fn open_row(&self, key: &StateKey) -> Result<Option<StateRow>, Error> {
        self.write(|connection| {
            let generation = Uuid::now_v7().to_string();
            let key = (&key.name, key.version, &key.boundary);
            let inserted = (key.0, key.1, key.2, generation);
            connection.prepare_cached(INSERT_STATE)?.execute(inserted)?;
            connection
                .prepare_cached(OPEN_STATE)?
                .query_row(key, row)
                .optional()
        })
    }

    fn store_state(
        &self,
        key: &StateKey,
        row: &StateRow,
        state: &StoredState,
    ) -> Result<bool, Error> {
        self.write(|connection| store(connection, key, row, state))
    }
}

fn store(
    connection: &Connection,
    key: &StateKey,
    row: &StateRow,
    state: &StoredState,
) -> SqlResult<bool> {
    let before = row.state.as_ref().map(|state| &state.bookmark);
    let stored = connection.prepare_cached(STORE_STATE)?.execute((
        &key.name,
        key.version,
        &key.boundary,
        &row.generation,
        before,
        &state.bookmark,
        &state.text,
    ))?;
    let old = (&key.name, key.version, StateKey::DELETED_ROWS);
    connection.prepare_cached(DELETE_OLD_STATES)?.execute(old)?;
    Ok(stored > 0)
}

fn row(row: &Row<'_>) -> SqlResult<StateRow> {
    Ok(StateRow {
        generation: row.get(0)?,
        state: state(row, 1)?,
    })
}

/// The state in two columns; `None` if no state was stored yet.
fn state(row: &Row<'_>, column: usize) -> SqlResult<Option<StoredState>> {
    let bookmark: Option<String> = row.get(column)?;
    let state: Option<String> = row.get(column + 1)?;
    let both = bookmark.zip(state);
    Ok(both.map(|(bookmark, text)| StoredState { bookmark, text }))
}

impl StateTable for SqliteStore {
    fn load(&self, key: StateKey) -> BoxFuture<'_, Result<Option<StoredState>, Error>> {
        self.call(move |store| store.log.load(&key)).boxed()
    }

    fn open(&self, key: StateKey) -> BoxFuture<'_, Result<Option<StateRow>, Error>> {
        self.call(move |store| store.log.open_row(&key)).boxed()
    }

    fn store(
        &self,
        key: StateKey,
        row: StateRow,
        state: StoredState,
    ) -> BoxFuture<'_, Result<bool, Error>> {
        self.call(move |store| store.log.store_state(&key, &row, &state))
            .boxed()
    }
}

impl BlockingSqliteStore {
    /// Begins a thread that stores the state of the lane's boundary.
    pub(super) fn refresh_in_background(&self, storing: Storing, fold: Option<StoredFold>) {
        let Some(fold) = fold.filter(|_| self.log.keeps_states()) else {
            return storing.end(&Ok(Refreshed::NotStorable));
        };
        let store = self.clone();
        thread::spawn(move || {
            let refreshed = store.refresh(storing.reads(), &fold);
            storing.end(&refreshed);
        });
    }

    fn refresh(&self, reads: &Reads, fold: &StoredFold) -> Result<Refreshed, Error> {
        let Some(key) = StateKey::new(reads, &[]) else {
            return Ok(Refreshed::NotStorable);
        };
        let Some(row) = self.log.open_row(&key)? else {
            return Ok(Refreshed::Superseded);
        };
        let (mut folding, after) = row.resume(fold);
        let (events, head) = match self.events(reads, after) {
            Err(failed) if failed.is_of_another_past() => {
                folding = fold.begin();
                self.events(reads, None)?
            }
            opened => opened?,
        };
        for event in events {
            folding.apply(&event?)?;
        }
        match to_store(&*folding, head, key.options) {
            Ok(state) => Refreshed::of(self.log.store_state(&key, &row, &state)),
            Err(refreshed) => Ok(refreshed),
        }
    }
}
