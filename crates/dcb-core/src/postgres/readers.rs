//! The state behind the reads of one server: its connections, the head seen last, and the short
//! reads that wait for a connection.

use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use postgres_store::{Lease, Reads, deadline_after};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use super::answer::{Answer, Found};
use super::coalesce::{Run, Waiting};
use crate::bounds::Bounds;
use crate::extent::Span;
use crate::{Bookmark, Error, Extent, Position, Query, ReadOptions};

/// The maximum number of reads that share a statement. More gain little, and each read waits for the rows of
/// the others.
const MAX_SHARED_READS: usize = 16;

/// The readers of one server. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub(super) struct Readers {
    connections: postgres_store::Readers<Error>,
    /// The head seen last; 0 before the first.
    head: Arc<AtomicU64>,
    /// Short reads that wait for a connection.
    pub(super) short_reads: Arc<Waiting<(Query, ReadOptions), Found>>,
    /// Short backward reads that wait for a connection. Only identical ones share a statement.
    pub(super) short_backward_reads: Arc<Waiting<(Query, ReadOptions), Found>>,
    /// Short counts that wait for a connection. Only identical ones share a statement.
    pub(super) short_counts: Arc<Waiting<(Query, Span), Extent>>,
}

impl Reads for Readers {
    type Error = Error;

    fn readers(&self) -> &postgres_store::Readers<Error> {
        &self.connections
    }
}

impl Deref for Readers {
    type Target = postgres_store::Readers<Error>;

    fn deref(&self) -> &Self::Target {
        &self.connections
    }
}

impl Readers {
    pub(super) fn new(connections: postgres_store::Readers<Error>) -> Self {
        Self {
            connections,
            head: Arc::default(),
            short_reads: Waiting::new(MAX_SHARED_READS),
            short_backward_reads: Waiting::new(1),
            short_counts: Waiting::new(1),
        }
    }

    /// The head seen last. A hint: the log may have grown since, or been cleared.
    pub(super) fn last_head(&self) -> Option<Position> {
        Position::new(self.head.load(Ordering::Relaxed))
    }

    pub(super) fn observe_head(&self, head: Option<Position>) {
        let head = Position::number_or_zero(head);
        // Not `fetch_max`: after `clear` the head is lower than before.
        self.head.store(head, Ordering::Relaxed);
    }

    /// The events of a short read. `None` if its range turned out to be long.
    pub(super) fn found_by_short_read(
        &self,
        answer: Answer,
        options: ReadOptions,
    ) -> Option<Found> {
        let found = answer.found()?;
        let head = Bookmark::position_of(found.events.head);
        self.observe_head(head);
        Bounds::of(options).are_short(head).then_some(found)
    }

    /// Waits for a connection together with other requests, of which `work` answers several on one
    /// connection. Returns `None` if it has no answer to this request; the caller then reads alone
    /// and gets its own error.
    ///
    /// # Errors
    /// A timeout if the caller has waited for its whole query timeout.
    pub(super) async fn coalesce<K, A, F>(
        &self,
        waiting: &Arc<Waiting<K, A>>,
        request: K,
        work: impl FnOnce(Self, Lease, Vec<Arc<K>>) -> F + Send + 'static,
    ) -> Result<Option<A>, Error>
    where
        K: Eq + Hash + Send + Sync + 'static,
        A: Clone + Send + Sync + 'static,
        F: Future<Output = Vec<Option<A>>> + Send + 'static,
    {
        let begun = std::time::Instant::now();
        let deadline = deadline_after(self.limit());
        // While the pool can open connections, requests spread over more of them.
        let (answer, run) = waiting.join(request, self.unopened() as usize);
        if let Some(run) = run {
            let run = self.clone().run(run, work);
            tokio::spawn(run.in_current_span());
        }
        match timeout_at(deadline, answer.wait()).await {
            Ok(Some(answer)) => Ok(Some(answer)),
            _ if Instant::now() < deadline => Ok(None),
            _ => Err(self.late(begun, "read", self.limit())),
        }
    }

    /// Acquires a connection for the run, and answers the requests that wait by then.
    async fn run<K, A, F>(self, run: Run<K, A>, work: impl FnOnce(Self, Lease, Vec<Arc<K>>) -> F)
    where
        K: Eq + Hash,
        F: Future<Output = Vec<Option<A>>>,
    {
        loop {
            let begun = Instant::now();
            match self.acquire().await {
                Ok(connection) if run.is_awaited() => {
                    let work = |requests| work(self, connection, requests);
                    return run.answer(work).await;
                }
                // Other runs have taken all requests.
                Ok(connection) => return connection.give_back(),
                // The wait is over, and the callers that joined later have time left.
                Err(_) if begun.elapsed() >= self.limit() && run.is_awaited() => {}
                Err(_) => return,
            }
        }
    }
}
