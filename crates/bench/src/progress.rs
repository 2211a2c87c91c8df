use crate::result::Measured;
use std::time::{Duration, Instant};

/// Rows done and time left, one line a row on standard error. A bar that redraws itself would
/// wipe what Criterion prints between two rows.
pub(crate) struct Progress {
    started: Instant,
    total: usize,
    done: usize,
}

impl Progress {
    pub(crate) fn new(rows: usize) -> Self {
        Self {
            started: Instant::now(),
            total: rows,
            done: 0,
        }
    }

    /// A row was measured, or was not and takes no time either.
    pub(crate) fn passed(&mut self, id: &str, measured: Option<&Measured>) {
        if !matches!(measured, Some(Measured::Figures(_) | Measured::Load(_))) {
            self.total -= 1;
            return;
        }
        self.done += 1;
        let seconds = self.left().as_secs();
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        eprintln!(
            "[{}/{}] {id}, {minutes}:{seconds:02} left",
            self.done, self.total
        );
    }

    fn left(&self) -> Duration {
        let rows_left = (self.total - self.done) as f64;
        self.started.elapsed().mul_f64(rows_left / self.done as f64)
    }
}
