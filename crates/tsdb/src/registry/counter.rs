use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows, such as the requests served. Clones share it. See
/// [`Registry::counter`](crate::Registry::counter).
// Relaxed: the number guards no other memory.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// Adds to the counter. Takes no lock.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// The count since the process began.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
