mod log;
mod matcher;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::log::Log;
use crate::{
    Append, AppendSignal, Appended, Appends, Error, EventStore, EventStream, Limits, Position,
    ProjectionLimit, Query, ReadOptions, RecordedCommand,
};

/// A store in memory: a list behind a lock, written to be obviously right rather than fast.
///
/// Every read and every condition walks the whole log, and a read copies what it returns. It is
/// for tests, and the oracle that other backends are compared with. Clones share one log.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    limits: Limits,
    projections: Arc<ProjectionLimit>,
    log: Arc<Mutex<Log>>,
    signal: AppendSignal,
}

impl MemoryStore {
    /// An empty log with the default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty log with these limits on an append.
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// The same store, with at most `max` projections at once.
    #[must_use]
    pub fn with_projection_limit(mut self, max: usize) -> Self {
        self.projections = Arc::new(ProjectionLimit::new(max));
        self
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        // An append changes the log only after its last check, so a panic elsewhere leaves it whole.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventStore for MemoryStore {
    async fn submit(&self, append: Append) -> Result<Appended, Error> {
        self.limits.check(&append)?;
        let appended = self.log().submit(append)?;
        self.signal.announce();
        Ok(appended)
    }

    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        let log = self.log();
        let events = log.read(query, options)?;
        let events = futures_util::stream::iter(events.into_iter().map(Ok));
        Ok(EventStream::new(log.head(), events))
    }

    async fn head(&self) -> Result<Option<Position>, Error> {
        Ok(self.log().head())
    }

    async fn count(&self, query: &Query) -> Result<u64, Error> {
        Ok(self.log().matching(query).count() as u64)
    }

    async fn exists(&self, query: &Query) -> Result<bool, Error> {
        Ok(self.log().matching(query).next().is_some())
    }

    async fn tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        Ok(self.log().tracked(source))
    }

    async fn commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> Result<Vec<RecordedCommand>, Error> {
        Ok(self.log().commands(after, limit))
    }

    fn projection_limit(&self) -> &ProjectionLimit {
        &self.projections
    }

    fn appends(&self) -> Appends {
        self.signal.appends()
    }
}
