//! The pool of read connections of a file. It opens connections on demand and keeps them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rusqlite::Connection;
use sqlite_store::{Access, OpenedFile};
use store_meter::{PoolMeter, Share, Timer};

use super::config::Config;
use super::error::{error, moved};
use super::session;
use crate::{Error, Fault};

#[derive(Default)]
pub(super) struct Readers {
    access: Access,
    meter: PoolMeter,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Open>,
    /// Idle and lent connections, including those that are still being opened.
    open: usize,
    closed: bool,
}

/// An open connection, and the share that counts it.
type Open = (Connection, Share);

impl Readers {
    pub(super) fn new(access: Access, meter: PoolMeter) -> Self {
        Self {
            access,
            meter,
            ..Self::default()
        }
    }

    /// The number of open connections.
    pub(super) fn open(&self) -> usize {
        self.state().open
    }

    /// Calls `work` with a connection that nothing else uses. Waits if all are in use.
    pub(super) fn with<T>(
        &self,
        config: &Config,
        file: Option<&OpenedFile>,
        work: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let asked = Timer::start();
        // Create `Lent` before opening a connection: if that fails or panics, dropping it releases
        // the slot.
        let mut lent = Lent {
            connection: self.take(config)?,
            readers: self,
        };
        let open = match lent.connection.take() {
            Some(open) => open,
            None => (self.open_another(config, file)?, self.meter.opened()),
        };
        let _read = self.meter.borrowed(asked);
        work(&lent.connection.insert(open).0)
    }

    /// Opens another connection to the store's file.
    fn open_another(
        &self,
        config: &Config,
        file: Option<&OpenedFile>,
    ) -> Result<Connection, Error> {
        let opened = session::reader(config, self.access);
        // Checked before the result: a file that is missing has been moved.
        if let Some(file) = file {
            file.check().map_err(moved)?;
        }
        opened.map_err(|failed| error(&failed))
    }

    /// Takes an idle connection. `None` means that the caller may open a new one.
    fn take(&self, config: &Config) -> Result<Option<Open>, Error> {
        let deadline = session::deadline(config.read_timeout);
        let mut state = self.state();
        loop {
            if state.closed {
                return Err(Fault::Closed.into());
            }
            // The connection that was used last has the warmest page cache.
            if let Some(connection) = state.idle.pop() {
                return Ok(Some(connection));
            }
            // Allow at least one connection, or reads would wait forever.
            if state.open < config.read_connections.max(1) as usize {
                state.open += 1;
                return Ok(None);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Fault::TimedOut {
                    operation: "read",
                    limit: config.read_timeout,
                }
                .into());
            }
            let waited = self.returned.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Refuses new reads and waits for running ones.
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

    /// Ignoring poison is safe: every change of the state is complete before anything can panic.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lent connection, or a slot for a connection that is not open yet. Dropping it returns it to
/// the pool.
struct Lent<'r> {
    readers: &'r Readers,
    connection: Option<Open>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut state = self.readers.state();
        match self.connection.take() {
            Some(connection) => state.idle.push(connection),
            None => state.open -= 1,
        }
        // `close` waits on the same condition variable as readers, so wake everyone.
        if state.closed {
            self.readers.returned.notify_all();
        } else {
            self.readers.returned.notify_one();
        }
    }
}
