//! The progress of the primary over the longest lag.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The primary's progress, for as long back as a replica may lag.
pub(super) struct History {
    max_lag: Duration,
    /// In order of time. The first one is the last that is older than the longest lag.
    seen: VecDeque<(Instant, u64)>,
}

impl History {
    pub(super) fn new(max_lag: Duration) -> Self {
        Self {
            max_lag,
            seen: VecDeque::new(),
        }
    }

    pub(super) fn note(&mut self, at: Instant, progress: u64) {
        self.seen.push_back((at, progress));
        while let Some((second, _)) = self.seen.get(1)
            && at.saturating_duration_since(*second) >= self.max_lag
        {
            self.seen.pop_front();
        }
    }

    /// The progress that a replica needs so as not to lag too far. If the primary has not been watched
    /// for that long, its progress when the watch began, because the lag before is unknown.
    pub(super) fn required(&self) -> u64 {
        self.seen.front().map_or(0, |(_, progress)| *progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replica_needs_the_progress_from_before_the_longest_lag() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut history = History::new(Duration::from_secs(10));
        assert_eq!(history.required(), 0);
        for (seconds, progress, required) in [
            (0, 5, 5),
            (4, 8, 5),
            (9, 8, 5),
            (14, 9, 8),
            (15, 9, 8),
            (24, 9, 9),
            // Emptied.
            (25, 0, 9),
            (36, 0, 0),
        ] {
            history.note(at(seconds), progress);
            assert_eq!(history.required(), required, "after {seconds} s");
        }
    }
}
