use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Error;

/// The maximum number of concurrent projections per store. Excess calls fail immediately.
#[derive(Debug)]
pub struct ProjectionLimit {
    max: usize,
    running: Arc<AtomicUsize>,
}

/// A permit to run one projection, released on drop.
#[derive(Debug)]
pub struct ProjectionPermit {
    running: Arc<AtomicUsize>,
}

impl ProjectionLimit {
    /// The default limit.
    pub const DEFAULT_MAX: usize = 100;

    /// Allows at most `max` concurrent projections.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            running: Arc::new(AtomicUsize::new(0)),
        }
    }

    /// The number of running projections.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Takes a permit.
    ///
    /// # Errors
    /// [`Error::TooManyProjections`] if the limit is reached.
    pub fn acquire(&self) -> Result<ProjectionPermit, Error> {
        // Relaxed: the counter guards no other memory.
        self.running
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |running| {
                (running < self.max).then_some(running + 1)
            })
            .map_err(|current| Error::TooManyProjections {
                max: self.max,
                current,
            })?;
        Ok(ProjectionPermit {
            running: Arc::clone(&self.running),
        })
    }
}

impl Default for ProjectionLimit {
    fn default() -> Self {
        Self::new(Self::DEFAULT_MAX)
    }
}

impl Drop for ProjectionPermit {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Ordering::Relaxed);
    }
}
