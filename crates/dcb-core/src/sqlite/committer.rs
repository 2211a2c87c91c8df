//! The log behind the two queues: where its batches are committed.

use std::sync::Arc;

use group_commit::{Commit, CommitBlocking, CommitError, SubmitError};
use uuid::Uuid;

use super::background::run;
use super::config::Config;
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

    /// On the thread of the caller that leads the batch.
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

    /// A file's on a thread that may wait for the disk: one hop a batch.
    async fn commit(&self, batch: &mut [Request]) -> Result<Vec<Verdict>, CommitError<Error>> {
        if self.0.is_in_memory() {
            return self.0.commit(batch);
        }
        let requests: Vec<Request> = batch.iter_mut().map(Request::take).collect();
        let commit = run(&self.0, move |log| {
            let verdicts = log.commit(&requests);
            (verdicts, requests)
        });
        let Some((verdicts, requests)) = commit.await else {
            // The runtime shut down before it began.
            return Err(CommitError::Failed(Error::Closed));
        };
        // A batch that was refused comes again in halves.
        for (place, request) in batch.iter_mut().zip(requests) {
            *place = request;
        }
        verdicts
    }
}

/// The bounds of a queue.
pub(super) fn queue_limits(config: &Config) -> group_commit::Limits {
    group_commit::Limits {
        max_batch_requests: config.max_batch_requests,
        max_batch_bytes: config.max_batch_bytes,
        max_queued_requests: config.max_queued_requests,
        max_queued_bytes: config.max_queued_bytes,
        ..group_commit::Limits::default()
    }
}

/// Why a request has no verdict, in the store's words.
pub(super) fn unsettled(unsettled: SubmitError<Error>, ids: &[Uuid], config: &Config) -> Error {
    match unsettled {
        SubmitError::Closed => Error::Closed,
        SubmitError::Refused(error) | SubmitError::Failed(error) => error,
        SubmitError::Panicked => Error::Panicked,
        SubmitError::OutcomeUnknown | SubmitError::Unknown(_) => {
            Error::OutcomeUnknown { ids: ids.to_vec() }
        }
        // Waiting for room and waiting for a commit are one wait to the caller.
        _ => Error::Timeout {
            operation: "append",
            limit: config.append_timeout,
        },
    }
}
