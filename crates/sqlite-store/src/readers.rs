//! The pool of read connections of a file. It opens connections on demand and keeps them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use group_commit::deadline_after;
use rusqlite::{Connection, Result as SqliteResult};
use store_fault::Fault;
use store_meter::{Holder, PoolMeter, Share, Timer};

use crate::{FileConfig, OpenedFile, fault};

/// A read that has waited this long comes before later ones. Until then a thread that runs may take a
/// connection first: to wake another for each read costs a third of the rate.
const PATIENCE: Duration = Duration::from_millis(10);
/// At most one read in this time comes before later ones, or the rate would fall once every read waits for
/// [`PATIENCE`]. So 100 threads wait up to 20 ms.
const BETWEEN_TURNS: Duration = Duration::from_micros(100);

/// The read connections of a file: at most `read_connections`, and at least one. A read has a connection
/// alone, and waits up to `read_timeout` if all are in use.
pub struct Readers {
    file: OpenedFile,
    max: usize,
    timeout: Duration,
    open: Box<dyn Fn() -> SqliteResult<Connection> + Send + Sync>,
    meter: PoolMeter,
    state: Mutex<State>,
    /// Notified when a connection comes back after `close` has begun.
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Open>,
    /// Idle and lent connections, including those that are still being opened.
    open: usize,
    /// The reads under way.
    running: Vec<Running>,
    /// The reads that wait, the oldest first. If a connection or a slot is free, the oldest has been woken.
    waiting: VecDeque<Waiting>,
    /// When a read last came before later ones.
    last_turn: Option<Instant>,
    /// The number of reads that have asked for a connection.
    asked: u64,
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

struct Waiting {
    number: u64,
    thread: Thread,
    since: Instant,
    is_woken: bool,
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
        let asked = Instant::now();
        let deadline = deadline_after(asked, self.timeout);
        let mut state = self.state();
        state.asked += 1;
        let number = state.asked;
        let mut has_waited = false;
        let taken = loop {
            if state.closed {
                break Err(Fault::Closed);
            }
            if state.may_take(number, max) {
                // The connection that was used last has the warmest page cache.
                let idle = state.idle.pop();
                state.open += usize::from(idle.is_none());
                break Ok(self.lent(&mut state, number, holder, idle));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break Err(Fault::TimedOut {
                    operation: "read",
                    limit: self.timeout,
                });
            }
            state.wait(number, asked);
            has_waited = true;
            drop(state);
            thread::park_timeout(left);
            state = self.state();
        };
        if has_waited {
            state.waiting.retain(|read| read.number != number);
        }
        // Another connection may be free too, or this read gives up although it has been woken.
        state.wake_oldest(self.max);
        taken
    }

    fn lent(
        &self,
        state: &mut State,
        number: u64,
        holder: Holder,
        connection: Option<Open>,
    ) -> Lent<'_> {
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
        for read in &state.waiting {
            read.thread.unpark();
        }
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
        if state.closed {
            self.readers.returned.notify_all();
        }
        state.wake_oldest(self.readers.max);
    }
}

impl State {
    /// Whether a connection or a slot is free.
    fn is_free(&self, max: usize) -> bool {
        !self.idle.is_empty() || self.open < max
    }

    /// Whether the read `number` may take what is free: it is its turn, or no other's.
    fn may_take(&mut self, number: u64, max: usize) -> bool {
        if !self.is_free(max) {
            return false;
        }
        let Some(oldest) = self.waiting.front() else {
            return true;
        };
        let now = Instant::now();
        let is_turn = now - oldest.since >= PATIENCE
            && self
                .last_turn
                .is_none_or(|last| now - last >= BETWEEN_TURNS);
        if is_turn && oldest.number == number {
            self.last_turn = Some(now);
        }
        !is_turn || oldest.number == number
    }

    /// Puts the read `number` of this thread into the queue. A read that found nothing when it woke keeps its place.
    fn wait(&mut self, number: u64, since: Instant) {
        match self.waiting.iter_mut().find(|read| read.number == number) {
            Some(read) => read.is_woken = false,
            None => self.waiting.push_back(Waiting {
                number,
                thread: thread::current(),
                since,
                is_woken: false,
            }),
        }
    }

    /// Wakes the read that has waited longest, if something is free and it has not been woken yet.
    fn wake_oldest(&mut self, max: usize) {
        let is_free = self.is_free(max);
        if let Some(oldest) = self.waiting.front_mut()
            && is_free
            && !oldest.is_woken
        {
            oldest.is_woken = true;
            oldest.thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use rusqlite::{Error, ffi};
    use tempfile::TempDir;

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
                // It could open no connection, and has given its slot back.
                yield_until(|| readers.state().waiting.len() == 1 && readers.count() == 1);
                Ok::<_, Fault>(second)
            });
            second.unwrap().join().unwrap().unwrap();
        });
        assert_eq!(readers.count(), 1);
    }

    /// A pool with at most `read_connections`, and the temporary folder that holds its file.
    fn readers(read_connections: u32) -> (Readers, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        std::fs::write(&path, []).unwrap();
        let mut config = FileConfig::new(Location::File(path.clone()));
        config.read_connections = read_connections;
        // Longer than a test waits: a read that nothing wakes fails the test.
        config.read_timeout = Duration::from_secs(120);
        let file = OpenedFile::at(&path).unwrap();
        let open = move || Connection::open(&path);
        let readers = Readers::new(&config, file, PoolMeter::default(), open);
        (readers, folder)
    }

    /// A thread that gives a connection back and asks again is there before the one that it wakes.
    #[test]
    fn read_that_has_waited_long_comes_before_a_later_one() {
        let (readers, _folder) = readers(1);
        for _ in 0..20 {
            let order = Mutex::new(Vec::new());
            let note = |name| {
                readers.read(Holder::Page, |_| {
                    order.lock().unwrap().push(name);
                    Ok::<_, Fault>(())
                })
            };
            thread::scope(|scope| {
                let waits = readers.read(Holder::Page, |_| {
                    let waits = scope.spawn(|| note("waits"));
                    yield_until(|| readers.state().waiting.len() == 1);
                    thread::sleep(PATIENCE);
                    Ok::<_, Fault>(waits)
                });
                note("later").unwrap();
                waits.unwrap().join().unwrap().unwrap();
            });
            assert_eq!(order.into_inner().unwrap(), ["waits", "later"]);
        }
    }

    /// Another read takes the connection before the woken one runs, which then must be woken again.
    #[test]
    fn read_that_was_woken_in_vain_is_woken_again() {
        let (readers, _folder) = readers(1);
        let read = || readers.read(Holder::Page, |_| Ok::<_, Fault>(()));
        for _ in 0..100 {
            thread::scope(|scope| {
                let waits = readers.read(Holder::Page, |_| {
                    let waits = scope.spawn(read);
                    yield_until(|| readers.state().waiting.len() == 1);
                    Ok::<_, Fault>(waits)
                });
                for _ in 0..10 {
                    read().unwrap();
                }
                let waits = waits.unwrap();
                yield_until(|| waits.is_finished());
                waits.join().unwrap().unwrap();
            });
        }
    }

    /// The second of two connections may come back before the read runs that was woken for the first.
    #[test]
    fn two_connections_that_come_back_together_serve_two_reads() {
        let (readers, _folder) = readers(2);
        for _ in 0..100 {
            let (lent, served) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let are_waiting = AtomicBool::new(false);
            let hold = || {
                lent.fetch_add(1, Ordering::Relaxed);
                yield_until(|| are_waiting.load(Ordering::Relaxed));
            };
            let meet = || {
                served.fetch_add(1, Ordering::Relaxed);
                yield_until(|| served.load(Ordering::Relaxed) == 2);
            };
            let read = |work: &dyn Fn()| {
                readers.read(Holder::Page, |_| {
                    work();
                    Ok::<_, Fault>(())
                })
            };
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| read(&hold));
                }
                yield_until(|| lent.load(Ordering::Relaxed) == 2);
                for _ in 0..2 {
                    scope.spawn(|| read(&meet).unwrap());
                }
                yield_until(|| readers.state().waiting.len() == 2);
                are_waiting.store(true, Ordering::Relaxed);
            });
        }
    }

    fn yield_until(mut is_true: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_true() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it never comes");
            thread::yield_now();
        }
    }
}
