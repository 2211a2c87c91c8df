use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Wakes a background thread.
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
    /// Ends the wait under way, or the next one.
    #[cold]
    pub(crate) fn wake(&self) {
        self.signal.lock().due = true;
        self.changed.notify_one();
    }

    /// Ends all waits, now and later.
    pub(crate) fn stop(&self) {
        self.signal.lock().stopped = true;
        self.changed.notify_one();
    }

    /// Waits to be woken, at most for `longest`; returns whether to go on.
    pub(crate) fn wait(&self, longest: Option<Duration>) -> bool {
        let mut signal = self.signal.lock();
        if !signal.due && !signal.stopped {
            match longest {
                Some(longest) => drop(self.changed.wait_for(&mut signal, longest)),
                None => self.changed.wait(&mut signal),
            }
        }
        signal.due = false;
        !signal.stopped
    }
}
