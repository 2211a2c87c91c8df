//! Moves the write-ahead log into the file beside the commits.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use rusqlite::{Connection, OpenFlags, Result};
use store_fault::{Fault, Reason};

use crate::pause::Pause;
use crate::settings::{CHECKPOINT_PAGES, configure_log};
use crate::{Durability, OpenedFile, fault};

/// The new pages of a log that did not begin again, before the next checkpoint.
const PAGES_BETWEEN: u32 = CHECKPOINT_PAGES / 4;
/// The checkpoint leaves this many pages to the writer.
pub(crate) const FEW_PAGES: u32 = 100;
/// The passes of a checkpoint after the first. Each one moves what was committed during the one before.
const MOST_PASSES: u32 = 4;

/// The checkpoints of a log, on a thread and a connection of their own.
///
/// A log begins again only in a moment in which all of it is in the file, and under load there is none:
/// new commits arrive during each pass. So the first pass moves most of the log, the next ones begin in a
/// [`Pause`] and flush the file, until only the pages of a few commits are left. The writer moves those
/// before its next transaction.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    file: OpenedFile,
    /// The pages of the log after the last commit.
    pages: AtomicU32,
    /// The pages at which the next checkpoint begins.
    due: AtomicU32,
    is_running: AtomicBool,
    pause: Pause,
    /// Whether a checkpoint left only what was committed during its last pass.
    are_few_left: AtomicBool,
    /// Whether the last checkpoint failed.
    is_failing: AtomicBool,
}

impl Checkpoints {
    pub(crate) fn of(file: OpenedFile) -> Self {
        let shared = Shared {
            file,
            pages: AtomicU32::new(0),
            due: AtomicU32::new(CHECKPOINT_PAGES),
            is_running: AtomicBool::new(false),
            pause: Pause::default(),
            are_few_left: AtomicBool::new(false),
            is_failing: AtomicBool::new(false),
        };
        Self {
            shared: Arc::new(shared),
            thread: Mutex::default(),
        }
    }

    /// The pages of the log after the last commit.
    pub(crate) fn pages(&self) -> u32 {
        self.shared.pages.load(Ordering::Relaxed)
    }

    /// Notes the pages of the log after a commit, and starts a checkpoint that is due.
    pub(crate) fn committed(&self, pages: u32) {
        let shared = &self.shared;
        if pages < shared.pages.swap(pages, Ordering::Relaxed) {
            // The log has begun again.
            shared.due.store(CHECKPOINT_PAGES, Ordering::Relaxed);
        }
        if pages >= shared.due.load(Ordering::Relaxed)
            && !shared.is_running.swap(true, Ordering::Acquire)
        {
            self.start();
        }
    }

    fn start(&self) {
        let shared = Arc::clone(&self.shared);
        let thread = Builder::new().name("checkpoint".into());
        match thread.spawn(move || shared.run()) {
            Ok(thread) => *self.thread() = Some(thread),
            Err(refused) => self.shared.ended(Err(no_thread(&refused))),
        }
    }

    /// Moves the few pages that a checkpoint left, so that the log begins again. Call it on the writer's
    /// connection before a transaction.
    pub(crate) fn finish(&self, connection: &Connection) {
        self.shared.pause.give();
        if self.shared.are_few_left.swap(false, Ordering::Relaxed) {
            // A failure is no reason to refuse a write: the next checkpoint meets it too, and logs it.
            let _ = pass(connection);
        }
    }

    /// Waits for the end of a running checkpoint.
    pub(crate) fn wait(&self) {
        let thread = self.thread().take();
        // The thread does not panic.
        let _ = thread.map(JoinHandle::join);
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Checkpoints {
    /// The state after a checkpoint during which a few pages were committed.
    pub(crate) fn leave_few(&self) {
        self.shared.are_few_left.store(true, Ordering::Relaxed);
    }

    /// Makes a checkpoint on this thread, whose log a test can read.
    pub(crate) fn run_here(&self) {
        self.shared.run();
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.wait();
    }
}

impl Shared {
    fn run(&self) {
        self.ended(self.move_log());
    }

    /// Moves the log into the file. Returns whether the writer can move what is left.
    fn move_log(&self) -> Result<bool, Fault> {
        self.file.check()?;
        let moves = || {
            let connection = open(&self.file)?;
            if pass(&connection)?.is_none() {
                return Ok(false);
            }
            for _ in 0..MOST_PASSES {
                let Some(moved) = self.pause.during(|| pass(&connection))? else {
                    return Ok(false);
                };
                if self.pages.load(Ordering::Relaxed).saturating_sub(moved) <= FEW_PAGES {
                    break;
                }
            }
            Ok(true)
        };
        moves().map_err(|failed| fault(&failed))
    }

    fn ended(&self, moved: Result<bool, Fault>) {
        let file = self.file.path().display();
        match &moved {
            Ok(_) => self.is_failing.store(false, Ordering::Relaxed),
            Err(error) => {
                if !self.is_failing.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%file, %error, "a checkpoint of the write-ahead log failed");
                }
            }
        }
        let next = self.pages.load(Ordering::Relaxed) + PAGES_BETWEEN;
        self.due
            .store(next.max(CHECKPOINT_PAGES), Ordering::Relaxed);
        self.are_few_left
            .store(moved.unwrap_or(false), Ordering::Relaxed);
        self.is_running.store(false, Ordering::Release);
    }
}

fn no_thread(refused: &io::Error) -> Fault {
    Fault::Unreachable(Reason::new(format!("no thread: {refused}")))
}

/// A connection for checkpoints alone. It flushes the log before it copies and the file afterwards,
/// whether or not the writer flushes its commits.
fn open(file: &OpenedFile) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file.path(), flags)?;
    configure_log(&connection)?;
    connection.pragma_update(None, "synchronous", Durability::Full.number())?;
    Ok(connection)
}

/// Moves what no read needs in the log, without a wait. The number of pages that are in the file now;
/// `None` if a read or the checkpoint of another connection left some.
fn pass(connection: &Connection) -> Result<Option<u32>> {
    let row = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok((
            row.get::<_, bool>(0)?,
            row.get::<_, i64>(1)?,
            row.get::<_, i64>(2)?,
        ))
    });
    let (is_busy, pages, moved) = row?;
    let all = !is_busy && moved == pages;
    Ok(u32::try_from(moved).ok().filter(|_| all))
}
