use crate::result::Measured;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Rows done and time left on standard error: a bar at a terminal, else one line a row.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    total: u64,
    done: u64,
    lines: bool,
}

impl Progress {
    pub(crate) fn new(target: &str, rows: usize) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(Some(rows as u64), draw_target(terminal));
        if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} {msg}\n") {
            bar.set_style(style);
        }
        bar.set_prefix(target.to_owned());
        Self {
            bar,
            started: Instant::now(),
            total: rows as u64,
            done: 0,
            lines: !terminal,
        }
    }

    /// A row was measured, or was not and takes no time either.
    pub(crate) fn passed(&mut self, id: &str, measured: Option<&Measured>) {
        if !matches!(measured, Some(Measured::Figures(_))) {
            self.total = self.total.saturating_sub(1);
            return self.bar.set_length(self.total);
        }
        self.done += 1;
        let left = minutes(self.left());
        self.bar.set_position(self.done);
        self.bar.set_message(format!("{left} left, {id} done"));
        if self.lines {
            eprintln!("{}/{} {id}, {left} left", self.done, self.total);
        }
    }

    fn left(&self) -> Duration {
        let rows_left = self.total.saturating_sub(self.done) as f64;
        self.started
            .elapsed()
            .mul_f64(rows_left / self.done.max(1) as f64)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn draw_target(terminal: bool) -> ProgressDrawTarget {
    if terminal {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    }
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
