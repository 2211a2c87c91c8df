//! The event store under a simulated race of students.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dcb_core::{Append, Appended, Error, EventStore};
use tokio::time::sleep;

use crate::stores::Events;

/// Simulates the network between a decision and its append. Decisions in the meantime can't see the
/// append yet.
const NETWORK_DELAY: Duration = Duration::from_millis(3);

/// Delays and counts appends. If `conditions` is false, it drops their conditions, which turns
/// every decision into a naive read followed by a write.
pub(super) struct Race {
    store: Events,
    conditions: bool,
    tried: AtomicU64,
    conflicts: AtomicU64,
}

impl Race {
    pub(super) fn new(store: Events, conditions: bool) -> Self {
        Self {
            store,
            conditions,
            tried: AtomicU64::new(0),
            conflicts: AtomicU64::new(0),
        }
    }

    /// Number of attempted appends.
    pub(super) fn tried(&self) -> u64 {
        self.tried.load(Ordering::Relaxed)
    }

    /// Number of appends rejected because of a concurrent append.
    pub(super) fn conflicts(&self) -> u64 {
        self.conflicts.load(Ordering::Relaxed)
    }
}

impl EventStore for Race {
    async fn submit(&self, mut append: Append) -> Result<Appended, Error> {
        sleep(NETWORK_DELAY).await;
        if !self.conditions {
            append.conditions.clear();
        }
        // Relaxed: the numbers are read after all students have finished.
        self.tried.fetch_add(1, Ordering::Relaxed);
        let outcome = self.store.submit(append).await;
        if matches!(outcome, Err(Error::Conflict { .. })) {
            self.conflicts.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    dcb_core::forward_event_store! { self { Self { store, .. } => store }
        query_stream query head count extent exists tracked commands
        projection_limit notifications health stats close
    }
}
