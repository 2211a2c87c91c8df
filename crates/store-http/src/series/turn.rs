use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::work::Permit;

/// A query that works on labels asks after this many series, which take about as long as the samples
/// after which an evaluation of PromQL asks.
const SERIES_PER_ASK: u64 = 4096;

/// The place of a running query among the others. It asks now and then whether it goes on.
#[derive(Debug)]
pub(super) struct Turn {
    abandoned: AtomicBool,
    series: AtomicU64,
    place: Mutex<Place>,
    long_queries: Arc<Semaphore>,
}

#[derive(Debug)]
enum Place {
    Short(Permit),
    Long(Permit),
    /// The query became long while all places for long ones were taken.
    Lost,
}

/// The query was stopped: it was abandoned, or must wait for a place among the long ones.
#[derive(Debug)]
pub(super) struct Stopped;

/// Stops a query when it is dropped.
pub(super) struct StoppedOnDrop(Arc<Turn>);

impl Drop for StoppedOnDrop {
    fn drop(&mut self) {
        self.0.abandoned.store(true, Ordering::Relaxed);
    }
}

impl Turn {
    /// The turn of a query that begins. It takes a place from `long_queries` when it asks for the first
    /// time whether it goes on.
    pub(super) fn short(permit: Permit, long_queries: &Arc<Semaphore>) -> Self {
        Self::new(Place::Short(permit), long_queries)
    }

    /// The turn of a query that has a place among the long ones.
    pub(super) fn long(permit: Permit, long_queries: &Arc<Semaphore>) -> Self {
        Self::new(Place::Long(permit), long_queries)
    }

    fn new(place: Place, long_queries: &Arc<Semaphore>) -> Self {
        Self {
            abandoned: AtomicBool::new(false),
            series: AtomicU64::new(0),
            place: Mutex::new(place),
            long_queries: Arc::clone(long_queries),
        }
    }

    /// Whether the query goes on. It is long from now on.
    pub(super) fn goes_on(&self) -> bool {
        if self.is_abandoned() {
            return false;
        }
        let mut place = self.place.lock();
        if let Place::Short(_) = *place {
            let long = Arc::clone(&self.long_queries).try_acquire_owned();
            *place = long.map_or(Place::Lost, Place::Long);
        }
        matches!(*place, Place::Long(_))
    }

    /// Counts series whose labels the query has read, and now and then asks whether it goes on.
    pub(super) fn has_read(&self, series: usize) -> Result<(), Stopped> {
        let before = self.series.fetch_add(series as u64, Ordering::Relaxed);
        let now = before.saturating_add(series as u64);
        if before / SERIES_PER_ASK == now / SERIES_PER_ASK || self.goes_on() {
            return Ok(());
        }
        Err(Stopped)
    }

    /// Whether nobody waits for the answer.
    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Stops the query when the guard is dropped.
    pub(super) fn stopped_on_drop(self: &Arc<Self>) -> StoppedOnDrop {
        StoppedOnDrop(Arc::clone(self))
    }

    /// The permit of a query that is done.
    pub(super) fn end(&self) -> Option<Permit> {
        match std::mem::replace(&mut *self.place.lock(), Place::Lost) {
            Place::Short(permit) | Place::Long(permit) => Some(permit),
            Place::Lost => None,
        }
    }
}
