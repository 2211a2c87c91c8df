//! Commits the batches of the async and the blocking queue to the log.

use std::sync::Arc;
use std::time::Instant;

use group_commit::{Commit, CommitBlocking, CommitError};
use store_meter::QueueMeter;

use super::log::Log;
use super::request::{Request, Verdict};
use crate::Error;

pub(super) struct Committer(pub(super) Arc<Log>);

impl CommitBlocking for Committer {
    type Request = Request;
    type Verdict = Verdict;
    type Error = Error;

    fn size_bytes(&self, request: &Request) -> usize {
        request.size_bytes()
    }

    fn deadline(&self, request: &Request) -> Option<Instant> {
        Some(request.deadline)
    }

    fn meter(&self) -> Option<&QueueMeter> {
        Some(self.0.counters.metrics.store().queue())
    }

    /// Runs on the thread of the caller that leads the batch.
    fn commit(&self, batch: &mut [Request]) -> Result<Vec<Verdict>, CommitError<Error>> {
        self.0.commit(batch)
    }
}

impl Commit for Committer {
    type Request = Request;
    type Verdict = Verdict;
    type Error = Error;

    fn size_bytes(&self, request: &Request) -> usize {
        request.size_bytes()
    }

    fn deadline(&self, request: &Request) -> Option<Instant> {
        Some(request.deadline)
    }

    fn meter(&self) -> Option<&QueueMeter> {
        Some(self.0.counters.metrics.store().queue())
    }

    /// Runs in the task of the caller that leads the batch, or on tokio's blocking pool if it may take
    /// long. A log in memory never waits.
    async fn commit(&self, batch: &mut [Request]) -> Result<Vec<Verdict>, CommitError<Error>> {
        let log = &self.0;
        if log.is_in_memory() {
            return log.commit(batch);
        }
        let commits = &log.async_commits;
        let (at_once, commit) = (Log::commit_at_once, Log::commit);
        commits
            .commit(log, batch, Request::take, at_once, commit)
            .await
    }
}
