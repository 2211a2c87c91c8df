mod log;
mod matcher;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use self::log::Log;
use crate::{
    Append, Appended, Bookmark, Error, EventStore, EventStream, Fault, Health, Lanes, Limits,
    Metrics, Notifications, Notifier, Position, ProjectionLimit, Query, ReadOptions,
    RecordedCommand, Stats, Tracking,
};

/// A store in memory: a list behind a lock, written to be obviously correct rather than fast.
///
/// Every read and every condition scans the whole log, and a read copies the events it returns. Use
/// it in tests. The conformance suite uses it as the oracle for other backends. Clones share one
/// log.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    limits: Limits,
    projections: Arc<ProjectionLimit>,
    lanes: Lanes,
    log: Arc<Mutex<Log>>,
    signal: Notifier,
    metrics: Metrics,
}

impl Default for MemoryStore {
    fn default() -> Self {
        let metrics = Metrics::new("memory", "memory");
        Self {
            limits: Limits::default(),
            projections: Arc::default(),
            lanes: Lanes::measured(Lanes::DEFAULT_CACHE_BYTES, metrics.clone()),
            log: Arc::default(),
            signal: Notifier::default(),
            metrics,
        }
    }
}

impl MemoryStore {
    /// Creates an empty log with the default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty log with these append limits.
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Limits the store to `max` concurrent projections.
    #[must_use]
    pub fn with_projection_limit(mut self, max: usize) -> Self {
        self.projections = Arc::new(ProjectionLimit::new(max));
        self
    }

    /// Limits the lanes at rest to this size in bytes, as [`Lanes::with_cache`] does.
    #[must_use]
    pub fn with_lane_cache(mut self, max_bytes: usize) -> Self {
        self.lanes = Lanes::measured(max_bytes, self.metrics.clone());
        self
    }

    /// Deletes all events, tracked positions and commands. The next event gets position 1.
    ///
    /// # Errors
    /// [`Fault::Closed`].
    pub fn clear(&self) -> Result<(), Error> {
        self.log()?.clear();
        self.lanes.forget();
        self.signal.notify();
        Ok(())
    }

    /// Appends with this commit time, rounded down to microseconds.
    pub(crate) fn submit_at(
        &self,
        append: Append,
        recorded_at: SystemTime,
    ) -> Result<Appended, Error> {
        self.limits.check(&append)?;
        let _waiting = self.metrics.store().begins();
        let mut log = self.log()?;
        let before = log.stats.events;
        let appended = log.submit(append, recorded_at);
        self.metrics.store().committed(log.stats.events - before);
        drop(log);
        self.metrics.append_ended(&appended);
        let appended = appended?;
        // Announce after the lock is released, so that the woken readers don't wait for it.
        self.signal.notify();
        Ok(appended)
    }

    fn log(&self) -> Result<MutexGuard<'_, Log>, Error> {
        let log = self.lock();
        match log.is_closed {
            true => Err(Fault::Closed.into()),
            false => Ok(log),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        // Ignoring poison is safe: an append changes the log only after its last check.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventStore for MemoryStore {
    async fn submit(&self, append: Append) -> Result<Appended, Error> {
        self.submit_at(append, SystemTime::now())
    }

    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        // Hold the lock for both reads, so that the events and the head are from one snapshot.
        let _read = self.metrics.store().reads().reading();
        let mut log = self.log()?;
        log.stats.reads += 1;
        let events = log.read(query, options)?;
        let events = futures_util::stream::iter(events.into_iter().map(Ok));
        Ok(EventStream::new(log.last(), events))
    }

    async fn head(&self) -> Result<Option<Bookmark>, Error> {
        Ok(self.log()?.last())
    }

    async fn count(&self, query: &Query) -> Result<u64, Error> {
        Ok(self.log()?.matching(query).count() as u64)
    }

    async fn exists(&self, query: &Query) -> Result<bool, Error> {
        Ok(self.log()?.matching(query).next().is_some())
    }

    async fn tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        Ok(self.log()?.tracked(source))
    }

    async fn all_tracked(&self) -> Result<Vec<Tracking>, Error> {
        self.log()?.all_tracked()
    }

    async fn commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> Result<Vec<RecordedCommand>, Error> {
        Ok(self.log()?.commands(after, limit))
    }

    fn projection_limit(&self) -> &ProjectionLimit {
        &self.projections
    }

    fn lanes(&self) -> Option<&Lanes> {
        Some(&self.lanes)
    }

    fn notifications(&self) -> Notifications {
        self.signal.notifications()
    }

    fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    async fn health(&self) -> Result<Health, Error> {
        let _open = self.log()?;
        let version = env!("CARGO_PKG_VERSION");
        Ok(Health::new("memory", version, Vec::new(), false))
    }

    fn stats(&self) -> Stats {
        self.lanes.add_to(Stats {
            running_projections: self.projections.running() as u64,
            ..self.lock().stats
        })
    }

    async fn close(&self) {
        self.lock().is_closed = true;
        // Wake the subscriptions, so that they end.
        self.signal.notify();
    }
}
