//! The event store under a simulated race of students.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dcb_core::{Append, Appended, Error, EventStore, Lanes};
use tokio::time::sleep;

use crate::stores::Events;

/// How the students of a race decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Appends lose their conditions, so each decision is a naive read followed by a write.
    Naive,
    /// After a conflict, a student decides again.
    Conditions,
    /// The students of this process follow each other in a lane.
    Lanes,
}

/// Simulates the network between a decision and its append. Decisions in the meantime can't see the
/// append yet.
const NETWORK_DELAY: Duration = Duration::from_millis(3);

/// Delays and counts appends, which [`Mode`] changes.
pub(super) struct Race {
    store: Events,
    mode: Mode,
    lanes: Lanes,
    tried: AtomicU64,
    conflicts: AtomicU64,
}

impl Race {
    pub(super) fn new(store: Events, mode: Mode) -> Self {
        Self {
            store,
            mode,
            lanes: Lanes::new(),
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
        if self.mode == Mode::Naive {
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

    fn lanes(&self) -> Option<&Lanes> {
        (self.mode == Mode::Lanes).then_some(&self.lanes)
    }

    dcb_core::forward_event_store! { self { Self { store, .. } => store }
        query_stream query head count extent exists tracked commands
        projection_limit outage notifications health stats close
    }
}
