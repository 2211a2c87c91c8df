use std::future::Future;
use std::time::{Duration, Instant};

use store_meter::QueueMeter;

/// Writes batches of requests for an async [`Queue`](crate::Queue).
pub trait Commit: Send + Sync + 'static {
    /// A request. The queue owns it while it is queued and in flight.
    type Request: Send + 'static;
    /// The result of a committed request.
    type Verdict: Send + 'static;
    /// The reason why a batch was not committed. Each caller of the batch gets a clone.
    type Error: Clone + Send + 'static;

    /// The size of `request` in bytes, for [`Limits`](crate::Limits). Called once per request.
    fn size_bytes(&self, request: &Self::Request) -> usize;

    /// The time after which `request` must not be committed any more; `None` for no end. A request
    /// whose time has passed when its batch is taken never reaches [`commit`](Self::commit), and its
    /// caller gets [`SubmitError::TimedOut`](crate::SubmitError::TimedOut).
    #[inline]
    fn deadline(&self, _request: &Self::Request) -> Option<Instant> {
        None
    }

    /// The meter that records waits and commits of the queue; `None` records nothing.
    #[inline]
    fn meter(&self) -> Option<&QueueMeter> {
        None
    }

    /// Commits `batch` and returns one verdict per request, in the same order.
    ///
    /// The batch is never empty, and its requests are in order of arrival. The queue makes one call
    /// at a time.
    ///
    /// Leave the requests unchanged when you return [`CommitError::Refused`] or
    /// [`CommitError::Late`]: the queue submits them again. In every other case you may move data out of the requests.
    ///
    /// A panic reaches only the callers of this batch. A wrong number of verdicts counts as a
    /// panic.
    ///
    /// # Errors
    /// [`CommitError`] says whether the batch may have been written.
    fn commit(
        &self,
        batch: &mut [Self::Request],
    ) -> impl Future<Output = Result<Vec<Self::Verdict>, CommitError<Self::Error>>> + Send;
}

/// Writes batches of requests for a [`BlockingQueue`](crate::BlockingQueue), on the thread of one
/// of its callers. The contract is the same as for [`Commit`].
pub trait CommitBlocking: Send + Sync + 'static {
    /// A request.
    type Request: Send + 'static;
    /// The result of a committed request.
    type Verdict: Send + 'static;
    /// The reason why a batch was not committed. Each caller of the batch gets a clone.
    type Error: Clone + Send + 'static;

    /// The size of `request` in bytes, for [`Limits`](crate::Limits). Called once per request.
    fn size_bytes(&self, request: &Self::Request) -> usize;

    /// The time after which `request` must not be committed any more; `None` for no end. A request
    /// whose time has passed when its batch is taken never reaches [`commit`](Self::commit), and its
    /// caller gets [`SubmitError::TimedOut`](crate::SubmitError::TimedOut).
    #[inline]
    fn deadline(&self, _request: &Self::Request) -> Option<Instant> {
        None
    }

    /// The meter that records waits and commits of the queue; `None` records nothing.
    #[inline]
    fn meter(&self) -> Option<&QueueMeter> {
        None
    }

    /// Commits `batch`, under the same contract as [`Commit::commit`].
    ///
    /// # Errors
    /// [`CommitError`] says whether the batch may have been written.
    fn commit(
        &self,
        batch: &mut [Self::Request],
    ) -> Result<Vec<Self::Verdict>, CommitError<Self::Error>>;
}

/// Why a batch has no verdicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitError<E> {
    /// Nothing was written, because at least one request is invalid. The queue commits the halves
    /// of the batch separately until it has isolated the invalid request; only its caller gets the
    /// error. A batch of `n` requests with one invalid request costs at most `2 * log2(n) + 1`
    /// commits, with the logarithm rounded up.
    Refused(E),
    /// Nothing was written, because the time of at least one request ended while the committer
    /// waited, such as for a connection or a lock. The queue answers the callers whose
    /// [`deadline`](Commit::deadline) has passed, and commits the other requests again.
    Late,
    /// Nothing was written, for a reason outside the requests. Every caller of the batch gets the
    /// error.
    Failed(E),
    /// The batch may have been written. Every caller of the batch gets the error.
    Unknown(E),
}

/// The end of a time limit that begins at `start`. A century later if no clock can show the end, so
/// that a limit of [`Duration::MAX`] means no end.
pub fn deadline_after(start: Instant, limit: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    start + limit.min(CENTURY)
}
