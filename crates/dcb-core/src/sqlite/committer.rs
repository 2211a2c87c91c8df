//! Commits the batches of the async and the blocking queue to the log.

use std::sync::Arc;
use std::time::Instant;

use group_commit::{Commit, CommitBlocking, CommitError, SubmitError};
use store_meter::QueueMeter;

use super::config::Config;
use super::error::timed_out;
use super::log::Log;
use super::request::{Request, Ticket, Verdict};
use crate::{Error, Fault};

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
        Some(self.0.counters.metrics.queue())
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
        Some(self.0.counters.metrics.queue())
    }

    /// Runs in the task of the caller that leads the batch, or on tokio's blocking pool if it may take
    /// long. A log in memory never waits.
    async fn commit(&self, batch: &mut [Request]) -> Result<Vec<Verdict>, CommitError<Error>> {
        if self.0.is_in_memory() {
            return self.0.commit(batch);
        }
        let log = Arc::clone(&self.0);
        let at_once = |batch: &[Request]| self.0.commit_at_once(batch);
        let commit = move |batch: &[Request]| log.commit(batch);
        let commits = &self.0.async_commits;
        let committed = commits.commit(batch, Request::take, at_once, commit).await;
        // The runtime shut down.
        committed.unwrap_or(Err(CommitError::Failed(Fault::Closed.into())))
    }
}

/// The store's error for a request without a verdict.
///
/// A request that is in a batch but still waits for the file's lock is withdrawn here, so its caller
/// learns that nothing of it is written.
pub(super) fn submit_error(failed: SubmitError<Error>, ticket: &Ticket, config: &Config) -> Error {
    match failed {
        SubmitError::Closed => Error::Fault(Fault::Closed),
        SubmitError::Refused(error) | SubmitError::Failed(error) => error,
        SubmitError::Panicked => Error::Fault(Fault::Panicked),
        SubmitError::OutcomeUnknown if ticket.claim.withdraw() => timed_out(config.write_timeout),
        SubmitError::OutcomeUnknown | SubmitError::Unknown(_) => Error::OutcomeUnknown {
            ids: ticket.ids.to_vec(),
        },
        // Callers don't distinguish waiting for queue space from waiting for the commit.
        _ => timed_out(config.write_timeout),
    }
}
