//! The pool of read connections of a file. It opens connections on demand and keeps them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use group_commit::deadline_after;
use rusqlite::{Connection, Result as SqliteResult};
use store_fault::Fault;
use store_meter::{Holder, PoolMeter, Share, Timer};

use crate::{FileConfig, OpenedFile, fault};

/// The read connections of a file: at most `read_connections`, and at least one. A read has a connection
/// alone, and waits up to `read_timeout` if all are in use.
pub struct Readers {
    file: OpenedFile,
    max: usize,
    timeout: Duration,
    open: Box<dyn Fn() -> SqliteResult<Connection> + Send + Sync>,
    meter: PoolMeter,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Open>,
    /// Idle and lent connections, including those that are still being opened.
    open: usize,
    /// The reads under way.
    running: Vec<Running>,
    /// The number of reads that have begun.
    begun: u64,
    closed: bool,
}

/// An open connection, and the share that counts it.
type Open = (Connection, Share);

#[derive(Clone, Copy)]
struct Running {
    number: u64,
    holder: Holder,
    since: Instant,
}

impl Readers {
    /// The connections that `open` opens to a file.
    pub fn new(
        config: &FileConfig,
        file: OpenedFile,
        meter: PoolMeter,
        open: impl Fn() -> SqliteResult<Connection> + Send + Sync + 'static,
    ) -> Self {
        Self {
            file,
            max: config.read_connections.max(1) as usize,
            timeout: config.read_timeout,
            open: Box::new(open),
            meter,
            state: Mutex::default(),
            returned: Condvar::new(),
        }
    }

    /// The file.
    pub fn file(&self) -> &OpenedFile {
        &self.file
    }

    /// The number of open connections.
    pub fn count(&self) -> usize {
        self.state().open
    }

    /// Whether a read that begins now has to wait for another to end.
    pub fn are_all_in_use(&self) -> bool {
        let state = self.state();
        state.idle.is_empty() && state.open >= self.max
    }

    /// The read that has gone on for longest, and its time.
    pub(crate) fn oldest(&self) -> Option<(Holder, Duration)> {
        let state = self.state();
        let oldest = state.running.iter().min_by_key(|read| read.since)?;
        Some((oldest.holder, oldest.since.elapsed()))
    }

    pub(crate) fn meter(&self) -> &PoolMeter {
        &self.meter
    }

    /// Calls `read` with a connection that nothing else uses. Waits if all are in use. `holder` names the
    /// read, should it keep the write-ahead log from being emptied.
    ///
    /// # Errors
    /// The error of `read`. [`Fault::TimedOut`] after the wait; [`Fault::FileMoved`] or the fault of
    /// SQLite's error if a connection can't be opened; [`Fault::Closed`].
    pub fn read<T, E: From<Fault>>(
        &self,
        holder: Holder,
        read: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let asked = Timer::start();
        // `Lent` exists before a connection is opened: if that fails or panics, dropping it releases the
        // slot.
        let mut lent = self.lend(holder, self.max)?;
        if lent.connection.is_none() {
            match self.open_another() {
                Ok(open) => lent.connection = Some(open),
                // The process has too many files open, but a connection of another read comes back.
                Err(Fault::Unreachable(_)) if self.count() > 1 => {
                    drop(lent);
                    lent = self.lend(holder, 0)?;
                }
                Err(failed) => return Err(failed.into()),
            }
        }
        let _read = self.meter.borrowed(asked);
        let (connection, _) = lent.connection.as_ref().ok_or(Fault::Closed)?;
        read(connection)
    }

    /// Opens another connection to the file.
    fn open_another(&self) -> Result<Open, Fault> {
        let opened = (self.open)();
        // Checked before the result: a file that is missing has been moved.
        self.file.check()?;
        let opened = opened.map_err(|failed| fault(&failed))?;
        Ok((opened, self.meter.opened()))
    }

    /// Takes an idle connection, or a slot for a new one if fewer than `max` are open.
    fn lend(&self, holder: Holder, max: usize) -> Result<Lent<'_>, Fault> {
        let begun = Instant::now();
        let deadline = deadline_after(begun, self.timeout);
        let mut state = self.state();
        loop {
            if state.closed {
                return Err(Fault::Closed);
            }
            // The connection that was used last has the warmest page cache.
            let idle = state.idle.pop();
            if idle.is_some() || state.open < max {
                state.open += usize::from(idle.is_none());
                return Ok(self.lent(&mut state, holder, idle));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Fault::TimedOut {
                    operation: "read",
                    limit: self.timeout,
                });
            }
            let waited = self.returned.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lent(&self, state: &mut State, holder: Holder, connection: Option<Open>) -> Lent<'_> {
        state.begun += 1;
        let number = state.begun;
        state.running.push(Running {
            number,
            holder,
            since: Instant::now(),
        });
        Lent {
            readers: self,
            number,
            connection,
        }
    }

    /// Refuses new reads and waits for running ones.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        self.returned.notify_all();
        loop {
            state.open -= state.idle.len();
            state.idle.clear();
            if state.open == 0 {
                return;
            }
            let waited = self.returned.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
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
    number: u64,
    connection: Option<Open>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut state = self.readers.state();
        state.running.retain(|read| read.number != self.number);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use rusqlite::{Error, ffi};

    use super::*;
    use crate::Location;

    /// SQLite reports too many open files as a file that can't be opened.
    #[test]
    fn read_waits_for_another_one_if_no_more_files_can_be_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        std::fs::write(&path, []).unwrap();
        let config = FileConfig::new(Location::File(path.clone()));
        let file = OpenedFile::at(&path).unwrap();
        let has_opened = AtomicBool::new(false);
        let open = move || match has_opened.swap(true, Ordering::Relaxed) {
            false => Connection::open(&path),
            true => Err(Error::SqliteFailure(
                ffi::Error::new(ffi::SQLITE_CANTOPEN),
                None,
            )),
        };
        let readers = Readers::new(&config, file, PoolMeter::default(), open);
        let read = |_: &Connection| Ok::<_, Fault>(());
        thread::scope(|scope| {
            let second = readers.read(Holder::Page, |_| {
                let second = scope.spawn(|| readers.read(Holder::Page, read));
                // It has begun, could open no connection, and has given its slot back.
                while readers.state().begun < 2 || readers.count() > 1 {
                    thread::yield_now();
                }
                Ok::<_, Fault>(second)
            });
            second.unwrap().join().unwrap().unwrap();
        });
        assert_eq!(readers.count(), 1);
    }
}
