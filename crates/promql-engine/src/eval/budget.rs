use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::{Proceed, QueryError, QueryOptions, QueryStats};

/// Samples visited between two checks whether the query may go on.
const VISITS_PER_CHECK: u64 = 1 << 18;
/// Work on the labels of a series takes about as long as visiting this many samples.
const VISITS_PER_SERIES: usize = 64;

/// The samples and the time that an evaluation has left, on all its threads.
pub(super) struct Budget {
    max_samples: u64,
    timeout: Duration,
    started: Instant,
    proceed: Proceed,
    samples: AtomicU64,
    /// The samples among them that came from the database.
    read: AtomicU64,
    visits: AtomicU64,
}

impl Budget {
    pub(super) fn new(options: &QueryOptions) -> Self {
        Self {
            max_samples: options.max_samples,
            timeout: options.timeout,
            started: Instant::now(),
            proceed: options.proceed.clone(),
            samples: AtomicU64::new(0),
            read: AtomicU64::new(0),
            visits: AtomicU64::new(0),
        }
    }

    /// The number of samples that may still be read or produced.
    pub(super) fn left(&self) -> u64 {
        self.max_samples
            .saturating_sub(self.samples.load(Ordering::Relaxed))
    }

    /// The error for a query that needs more samples than are left.
    pub(super) fn exhausted(&self) -> QueryError {
        QueryError::TooManySamples {
            max: self.max_samples,
        }
    }

    /// Charges samples that are read from the database. Call it before allocating them.
    pub(super) fn read(&self, samples: usize) -> Result<(), QueryError> {
        self.read.fetch_add(samples as u64, Ordering::Relaxed);
        self.hold(samples)
    }

    /// The samples charged so far.
    pub(super) fn stats(&self) -> QueryStats {
        QueryStats {
            samples_read: self.read.load(Ordering::Relaxed),
            samples_held: self.samples.load(Ordering::Relaxed),
        }
    }

    /// Charges samples that are read or produced. Call it before allocating them.
    pub(super) fn hold(&self, samples: usize) -> Result<(), QueryError> {
        let before = self.samples.fetch_add(samples as u64, Ordering::Relaxed);
        if before.saturating_add(samples as u64) > self.max_samples {
            return Err(self.exhausted());
        }
        self.visit(samples)
    }

    /// Counts a series whose labels are read or changed, and its samples, which are visited again.
    pub(super) fn visit_series(&self, samples: usize) -> Result<(), QueryError> {
        self.visit(VISITS_PER_SERIES + samples)
    }

    /// Counts samples that are visited again. Now and then, it checks the clock and asks the caller
    /// whether to go on.
    pub(super) fn visit(&self, samples: usize) -> Result<(), QueryError> {
        // The call itself counts as one visit, so that calls without samples are checked too.
        let new = samples as u64 + 1;
        let visits = self
            .visits
            .fetch_add(new, Ordering::Relaxed)
            .saturating_add(new);
        // Reading the clock costs more than most calls.
        if visits < VISITS_PER_CHECK {
            return Ok(());
        }
        self.visits.store(0, Ordering::Relaxed);
        self.check()
    }

    fn check(&self) -> Result<(), QueryError> {
        if !self.proceed.decide() {
            return Err(QueryError::Stopped);
        }
        if self.started.elapsed() > self.timeout {
            return Err(QueryError::Timeout {
                limit: self.timeout,
            });
        }
        Ok(())
    }
}
