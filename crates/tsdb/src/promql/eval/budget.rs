use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::promql::{QueryError, QueryOptions, QueryStats};

/// Samples visited between two checks of the clock.
const VISITS_PER_CLOCK_CHECK: u64 = 1 << 18;

/// The samples and the time that an evaluation has left.
pub(super) struct Budget {
    max_samples: u64,
    timeout: Duration,
    started: Instant,
    samples: Cell<u64>,
    /// The samples among them that came from the database.
    read: Cell<u64>,
    visits: Cell<u64>,
}

impl Budget {
    pub(super) fn new(options: &QueryOptions) -> Self {
        Self {
            max_samples: options.max_samples,
            timeout: options.timeout,
            started: Instant::now(),
            samples: Cell::new(0),
            read: Cell::new(0),
            visits: Cell::new(0),
        }
    }

    /// The number of samples that may still be read or produced.
    pub(super) fn left(&self) -> u64 {
        self.max_samples.saturating_sub(self.samples.get())
    }

    /// The error for a query that needs more samples than are left.
    pub(super) fn exhausted(&self) -> QueryError {
        QueryError::TooManySamples {
            max: self.max_samples,
        }
    }

    /// Charges samples that are read from the database. Call it before allocating them.
    pub(super) fn read(&self, samples: usize) -> Result<(), QueryError> {
        self.read.set(self.read.get() + samples as u64);
        self.hold(samples)
    }

    /// The samples charged so far.
    pub(super) fn stats(&self) -> QueryStats {
        QueryStats {
            samples_read: self.read.get(),
            samples_held: self.samples.get(),
        }
    }

    /// Charges samples that are read or produced. Call it before allocating them.
    pub(super) fn hold(&self, samples: usize) -> Result<(), QueryError> {
        if samples as u64 > self.left() {
            return Err(self.exhausted());
        }
        self.samples.set(self.samples.get() + samples as u64);
        self.visit(samples)
    }

    /// Counts samples that are visited again, and checks the clock now and then.
    pub(super) fn visit(&self, samples: usize) -> Result<(), QueryError> {
        // The call itself counts as one visit, so that calls without samples check the clock too.
        let visits = self.visits.get().saturating_add(samples as u64 + 1);
        // Reading the clock costs more than most calls.
        if visits < VISITS_PER_CLOCK_CHECK {
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
