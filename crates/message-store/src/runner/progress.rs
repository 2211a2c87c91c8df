use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::GlobalPosition;

/// Why a runner waits: the error of the store or of the handler.
pub type Outage = Arc<dyn StdError + Send + Sync>;

/// The progress of a [`MessageRunner`](crate::MessageRunner). Clones share their values.
#[derive(Clone, Default)]
pub struct Progress(Arc<Shared>);

/// Relaxed accesses are enough for the numbers, because they guard no other memory.
#[derive(Default)]
struct Shared {
    /// Global positions start at 1; 0 stands for none.
    position: AtomicU64,
    head: AtomicU64,
    handled: AtomicU64,
    poisoned: AtomicU64,
    parked: AtomicU64,
    outage: group_commit::Outage<Outage>,
}

impl Progress {
    /// All messages of the consumer up to this global position are handled or set aside.
    /// It includes the positions of other categories and members, so it can be after the last handled
    /// message. `None` before the first.
    pub fn position(&self) -> Option<GlobalPosition> {
        global(self.0.position.load(Ordering::Relaxed))
    }

    /// The head of the store at the last read.
    pub fn head(&self) -> Option<GlobalPosition> {
        global(self.0.head.load(Ordering::Relaxed))
    }

    /// The number of global positions between the position and the head, including those of messages
    /// that don't concern the consumer. 0 once the runner has caught up.
    pub fn lag(&self) -> u64 {
        let head = self.0.head.load(Ordering::Relaxed);
        head.saturating_sub(self.0.position.load(Ordering::Relaxed))
    }

    /// The number of messages handled since the runner was created, without those that were set aside.
    pub fn handled(&self) -> u64 {
        self.0.handled.load(Ordering::Relaxed)
    }

    /// The number of messages written to the poison stream since the runner was created.
    pub fn poisoned(&self) -> u64 {
        self.0.poisoned.load(Ordering::Relaxed)
    }

    /// The number of messages parked since the runner was created.
    pub fn parked(&self) -> u64 {
        self.0.parked.load(Ordering::Relaxed)
    }

    /// The error that the runner waits out; `None` during normal operation.
    pub fn outage(&self) -> Option<Outage> {
        self.0.outage.error()
    }

    pub(super) fn set_position(&self, position: Option<GlobalPosition>) {
        let number = position.map_or(0, GlobalPosition::get);
        self.0.position.store(number, Ordering::Relaxed);
    }

    pub(super) fn observe_head(&self, head: Option<GlobalPosition>) {
        let number = head.map_or(0, GlobalPosition::get);
        self.0.head.store(number, Ordering::Relaxed);
    }

    pub(super) fn count_handled(&self) {
        self.0.handled.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_poisoned(&self) {
        self.0.poisoned.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_parked(&self) {
        self.0.parked.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether this begins the outage.
    pub(super) fn begin_outage(&self, error: Outage) -> bool {
        self.0.outage.failed(error)
    }

    /// Returns how long the outage was that has ended, and its retries, if there was one.
    pub(super) fn end_outage(&self) -> Option<(Duration, u64)> {
        self.0.outage.ended()
    }
}

fn global(number: u64) -> Option<GlobalPosition> {
    (number > 0).then(|| GlobalPosition::new(number))
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Progress")
            .field("position", &self.position())
            .field("head", &self.head())
            .field("handled", &self.handled())
            .field("poisoned", &self.poisoned())
            .field("parked", &self.parked())
            .field("outage", &self.outage())
            .finish()
    }
}
