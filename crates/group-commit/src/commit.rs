use std::future::Future;

/// Writes batches of requests for an async [`Queue`](crate::Queue).
pub trait Commit: Send + Sync + 'static {
    /// What a caller submits. Owned by the queue while it is queued and in flight.
    type Request: Send + 'static;
    /// What a caller gets for a request that was committed.
    type Verdict: Send + 'static;
    /// Why a batch was not committed; each caller of the batch gets a clone.
    type Error: Clone + Send + 'static;

    /// How many bytes `request` counts for in [`Limits`](crate::Limits). Asked once per request.
    fn size_bytes(&self, request: &Self::Request) -> usize;

    /// Commits `batch`, never empty and in order of arrival, and returns one verdict per request
    /// in the same order. Never called while another call of the same queue is under way.
    ///
    /// After [`CommitError::Refused`] the same requests come again in smaller batches, so they
    /// must be left as they were; in every other case they may be taken apart.
    ///
    /// A panic reaches the callers of this batch alone. So does a wrong number of verdicts, which
    /// counts as a panic.
    fn commit(
        &self,
        batch: &mut [Self::Request],
    ) -> impl Future<Output = Result<Vec<Self::Verdict>, CommitError<Self::Error>>> + Send;
}

/// Writes batches of requests for a [`BlockingQueue`](crate::BlockingQueue), on the thread of one
/// of the callers. The contract is that of [`Commit`].
pub trait CommitBlocking: Send + Sync + 'static {
    /// What a caller submits.
    type Request: Send + 'static;
    /// What a caller gets for a request that was committed.
    type Verdict: Send + 'static;
    /// Why a batch was not committed; each caller of the batch gets a clone.
    type Error: Clone + Send + 'static;

    /// How many bytes `request` counts for in [`Limits`](crate::Limits). Asked once per request.
    fn size_bytes(&self, request: &Self::Request) -> usize;

    /// Commits `batch` as [`Commit::commit`] does.
    fn commit(
        &self,
        batch: &mut [Self::Request],
    ) -> Result<Vec<Self::Verdict>, CommitError<Self::Error>>;
}

/// How a commit says that its batch has no verdicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitError<E> {
    /// Nothing was written, because the data of at least one request is at fault. The queue tries
    /// the halves of the batch until the request at fault is alone; only its caller gets the error.
    /// A batch of `n` requests with one at fault costs at most `2 * log2(n) + 1` commits, the
    /// logarithm rounded up.
    Refused(E),
    /// Nothing was written, whatever the requests: every caller of the batch gets the error.
    Failed(E),
    /// The batch may have been written or not: every caller of the batch is told so.
    Unknown(E),
}
