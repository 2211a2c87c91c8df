use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The shortest time between two lines of the log about the same thing.
const PAUSE: Duration = Duration::from_secs(10);

/// Limits how often an event that may repeat is logged. One limiter per thing that the event is
/// about.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    suppressed: u64,
}

impl Limiter {
    /// If this event may be logged, the number of events since the last one that was.
    pub(crate) fn admit(&self) -> Option<u64> {
        let now = Instant::now();
        let mut state = self.state.lock();
        if state.last.is_some_and(|last| now - last < PAUSE) {
            state.suppressed += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_within_the_pause_are_counted() {
        let limiter = Limiter::default();
        assert_eq!(limiter.admit(), Some(0));
        assert_eq!(limiter.admit(), None);
        assert_eq!(limiter.admit(), None);
        limiter.state.lock().last = Instant::now().checked_sub(PAUSE);
        assert_eq!(limiter.admit(), Some(2));
        assert_eq!(limiter.admit(), None);
    }
}
