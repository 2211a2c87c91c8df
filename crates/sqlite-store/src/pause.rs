//! Lets the beginning of a checkpoint run between two commits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The writer waits no longer for the checkpoint. Copying a few pages takes less, flushing a file more.
const LONGEST_PAUSE: Duration = Duration::from_millis(1);
/// The checkpoint waits no longer for the writer: without commits it needs no pause.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// A pause of the writer for a checkpoint.
///
/// SQLite flushes the file only after a pass that copied the whole log, and commits may go on beside the
/// flush. If a commit arrives while the pass copies, SQLite leaves the flush to the next pass. The last pass
/// is the writer's, and must not be the one that flushes everything.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    /// Spares the writer the lock.
    is_asked: AtomicBool,
    turn: Mutex<Turn>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    #[default]
    Writer,
    /// The checkpoint waits for the end of a commit.
    Asked,
    Checkpoint,
}

impl Pause {
    /// Calls `work` between two commits.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut turn = self.turn();
        *turn = Turn::Asked;
        self.is_asked.store(true, Ordering::Relaxed);
        let given = self
            .changed
            .wait_timeout_while(turn, LONGEST_WAIT, |turn| *turn == Turn::Asked);
        drop(given.unwrap_or_else(PoisonError::into_inner));
        let done = work();
        *self.turn() = Turn::Writer;
        self.is_asked.store(false, Ordering::Relaxed);
        self.changed.notify_one();
        done
    }

    /// Gives a checkpoint that asks its turn, and waits a millisecond for its end. The writer calls it
    /// before a transaction.
    pub(crate) fn give(&self) {
        if !self.is_asked.load(Ordering::Relaxed) {
            return;
        }
        let mut turn = self.turn();
        if *turn != Turn::Asked {
            return;
        }
        *turn = Turn::Checkpoint;
        self.changed.notify_one();
        let taken = self
            .changed
            .wait_timeout_while(turn, LONGEST_PAUSE, |turn| *turn == Turn::Checkpoint);
        drop(taken.unwrap_or_else(PoisonError::into_inner));
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn checkpoint_begins_between_two_commits() {
        let pause = Pause::default();
        let (is_committing, began_in_commit) = (AtomicBool::new(true), AtomicBool::new(false));
        thread::scope(|scope| {
            let checkpoint = scope.spawn(|| {
                pause.during(|| {
                    began_in_commit.store(is_committing.load(Ordering::SeqCst), Ordering::SeqCst);
                });
            });
            while !pause.is_asked.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            // Less time than a checkpoint waits for a commit.
            is_committing.store(false, Ordering::SeqCst);
            pause.give();
            checkpoint.join().unwrap();
        });
        assert!(!began_in_commit.into_inner());
    }

    #[test]
    fn commits_go_on_while_a_checkpoint_flushes() {
        let pause = Pause::default();
        let (goes_on, has_gone_on) = mpsc::channel();
        thread::scope(|scope| {
            let asks = &pause;
            let checkpoint = scope.spawn(move || asks.during(|| has_gone_on.recv().unwrap()));
            while !pause.is_asked.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            pause.give();
            pause.give();
            goes_on.send(()).unwrap();
            checkpoint.join().unwrap();
        });
        assert!(!pause.is_asked.into_inner());
    }

    #[test]
    fn checkpoint_needs_no_commit() {
        assert_eq!(Pause::default().during(|| 7), 7);
    }
}
