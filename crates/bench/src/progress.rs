use crate::result::Measured;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Rows done and time left, one line per row on standard error. A progress bar that redraws itself
/// would erase the lines that Criterion prints between two rows.
pub(crate) struct Progress {
    target: String,
    started: Instant,
    total: usize,
    done: usize,
    set_up_time: Cell<Duration>,
}

impl Progress {
    pub(crate) fn new(target: &str, rows: usize) -> Self {
        Self {
            target: target.to_owned(),
            started: Instant::now(),
            total: rows,
            done: 0,
            set_up_time: Cell::default(),
        }
    }

    /// The total time of the set-ups. Each row adds its own.
    pub(crate) fn set_up_time(&self) -> &Cell<Duration> {
        &self.set_up_time
    }

    /// Counts a row. A row that was not measured took no time, so the estimate leaves it out.
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

    /// Prints how long the rows took, and how much of that was set-up, which a change of the
    /// benches can save.
    pub(crate) fn ended(&self) {
        if self.done > 0 {
            eprintln!(
                "{}: {} rows in {:.1} s, {:.1} s of it set-up",
                self.target,
                self.done,
                self.started.elapsed().as_secs_f64(),
                self.set_up_time.get().as_secs_f64()
            );
        }
    }

    fn left(&self) -> Duration {
        let rows_left = (self.total - self.done) as f64;
        self.started.elapsed().mul_f64(rows_left / self.done as f64)
    }
}
