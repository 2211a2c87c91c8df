use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Wakes a background thread. No wake-up is lost: one that comes while the thread is busy ends the
/// next wait.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    signal: Mutex<Signal>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Signal {
    due: bool,
    stopped: bool,
}

impl Alarm {
    /// Ends the current wait, or the next one.
    #[cold]
    pub(crate) fn wake(&self) {
        self.signal.lock().due = true;
        self.changed.notify_one();
    }

    /// Ends the current wait and all later ones.
    pub(crate) fn stop(&self) {
        self.signal.lock().stopped = true;
        self.changed.notify_one();
    }

    /// Waits for a wake-up, but no longer than `timeout`. Returns `false` once the alarm is
    /// stopped.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> bool {
        let mut signal = self.signal.lock();
        // This needs no loop: a spurious wake-up only makes the thread look for work early.
        if !signal.due && !signal.stopped {
            match timeout {
                Some(timeout) => drop(self.changed.wait_for(&mut signal, timeout)),
                None => self.changed.wait(&mut signal),
            }
        }
        signal.due = false;
        !signal.stopped
    }
}
