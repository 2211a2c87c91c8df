use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::promql::{QueryError, QueryOptions};

/// How much work is done between two looks at the clock.
const VISITS: u64 = 1 << 18;

/// What an evaluation may still cost.
pub(super) struct Budget {
    max_samples: u64,
    timeout: Duration,
    started: Instant,
    samples: Cell<u64>,
    visits: Cell<u64>,
}

impl Budget {
    pub(super) fn new(options: &QueryOptions) -> Self {
        Self {
            max_samples: options.max_samples,
            timeout: options.timeout,
            started: Instant::now(),
            samples: Cell::new(0),
            visits: Cell::new(0),
        }
    }

    /// The samples that may still be read or produced.
    pub(super) fn left(&self) -> u64 {
        self.max_samples.saturating_sub(self.samples.get())
    }

    /// The error when they don't suffice.
    pub(super) fn exhausted(&self) -> QueryError {
        QueryError::TooManySamples {
            max: self.max_samples,
        }
    }

    /// Samples are read or produced: they take memory. Call it before they do.
    pub(super) fn hold(&self, samples: usize) -> Result<(), QueryError> {
        if samples as u64 > self.left() {
            return Err(self.exhausted());
        }
        self.samples.set(self.samples.get() + samples as u64);
        self.visit(samples)
    }

    /// Samples are looked at again: they take time.
    pub(super) fn visit(&self, samples: usize) -> Result<(), QueryError> {
        let visits = self.visits.get().saturating_add(samples as u64 + 1);
        if visits < VISITS {
            self.visits.set(visits);
            return Ok(());
        }
        self.visits.set(0);
        if self.started.elapsed() > self.timeout {
            return Err(QueryError::Timeout {
                limit: self.timeout,
            });
        }
        Ok(())
    }
}
