use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::position::Position;

/// Maximum number of marks in the time of the age limit.
const MARKS: u32 = 4096;

/// The times at which the log reached certain positions, to tell the age of what is not sent yet.
pub(super) struct Arrivals {
    marks: VecDeque<(Position, Instant)>,
    /// The time between two marks.
    interval: Duration,
}

impl Arrivals {
    pub(super) fn new(max_age: Duration) -> Self {
        Self {
            marks: VecDeque::new(),
            interval: Duration::from_secs(1).max(max_age / MARKS),
        }
    }

    /// Notes that the log ends here now.
    pub(super) fn note(&mut self, end: Position, now: Instant) {
        let is_new = self.marks.back().is_none_or(|(last, at)| {
            *last < end && now.saturating_duration_since(*at) >= self.interval
        });
        if is_new {
            self.marks.push_back((end, now));
        }
    }

    /// How long the samples after a position have been in the log, rounded down; zero at its end.
    /// Forgets earlier positions.
    pub(super) fn age(&mut self, position: Position, now: Instant) -> Duration {
        while self.marks.front().is_some_and(|(end, _)| *end <= position) {
            self.marks.pop_front();
        }
        let first = self.marks.front();
        first.map_or(Duration::ZERO, |(_, at)| now.saturating_duration_since(*at))
    }
}
