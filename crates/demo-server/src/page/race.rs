//! The event store under a simulated race of students.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dcb_core::{
    Append, Appended, Error, EventStore, EventStream, Position, ProjectionLimit, Query,
    ReadOptions, RecordedCommand,
};
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
            append.condition = None;
        }
        // Relaxed: the numbers are read after all students have finished.
        self.tried.fetch_add(1, Ordering::Relaxed);
        let outcome = self.store.submit(append).await;
        if matches!(outcome, Err(Error::Conflict { .. })) {
            self.conflicts.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        self.store.query_stream(query, options).await
    }

    async fn head(&self) -> Result<Option<Position>, Error> {
        self.store.head().await
    }

    async fn count(&self, query: &Query) -> Result<u64, Error> {
        self.store.count(query).await
    }

    async fn exists(&self, query: &Query) -> Result<bool, Error> {
        self.store.exists(query).await
    }

    async fn tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        self.store.tracked(source).await
    }

    async fn commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> Result<Vec<RecordedCommand>, Error> {
        self.store.commands(after, limit).await
    }

    fn projection_limit(&self) -> &ProjectionLimit {
        self.store.projection_limit()
    }
}
