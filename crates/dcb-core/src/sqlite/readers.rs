//! The connections that read a file, opened when they are needed and kept.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rusqlite::Connection;

use super::config::Config;
use super::error::error;
use super::session;
use crate::Error;

#[derive(Default)]
pub(super) struct Readers {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    open: usize,
    closed: bool,
}

impl Readers {
    /// How many connections are open.
    pub(super) fn open(&self) -> usize {
        self.state().open
    }

    /// Calls `work` with a connection of its own, and waits for one where all are in use.
    pub(super) fn with<T>(
        &self,
        config: &Config,
        work: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut lent = Lent {
            connection: self.take(config)?,
            readers: self,
        };
        let connection = match lent.connection.take() {
            Some(connection) => connection,
            None => session::reader(config).map_err(|failed| error(&failed))?,
        };
        work(lent.connection.insert(connection))
    }

    /// An idle connection, or `None` with the right to open one.
    fn take(&self, config: &Config) -> Result<Option<Connection>, Error> {
        let deadline = session::deadline(config.query_timeout);
        let mut state = self.state();
        loop {
            if state.closed {
                return Err(Error::Closed);
            }
            if let Some(connection) = state.idle.pop() {
                return Ok(Some(connection));
            }
            if state.open < config.read_connections.max(1) {
                state.open += 1;
                return Ok(None);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Timeout {
                    operation: "read",
                    limit: config.query_timeout,
                });
            }
            let waited = self.returned.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Refuses new reads, and waits for those that are under way.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        self.returned.notify_all();
        loop {
            state.open -= state.idle.len();
            state.idle.clear();
            if state.open == 0 {
                return;
            }
            state = self
                .returned
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Poisoned or not: nothing in it is half done at any time.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection on loan, or the place of one that is still to be opened.
struct Lent<'r> {
    readers: &'r Readers,
    connection: Option<Connection>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut state = self.readers.state();
        match self.connection.take() {
            Some(connection) => state.idle.push(connection),
            None => state.open -= 1,
        }
        if state.closed {
            self.readers.returned.notify_all();
        } else {
            self.readers.returned.notify_one();
        }
    }
}
