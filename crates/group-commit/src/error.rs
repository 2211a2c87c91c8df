/// Why a submitted request has no verdict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError<E> {
    /// The queue is at a bound and the caller would not wait. Nothing was written: try again later
    /// or shed the load.
    #[error("the commit queue is full")]
    Full,
    /// The queue was closed before the request came. Nothing was written: submit elsewhere.
    #[error("the commit queue is closed")]
    Closed,
    /// The deadline passed while the request was queued. Nothing was written or will be: submit it
    /// again or give up.
    #[error("timed out while queued; nothing was written")]
    TimedOut,
    /// The deadline passed while the request was being committed, or the runtime that drove the
    /// commit was shut down. It may have been written or still be: look it up before submitting it
    /// again.
    #[error("no verdict came in time; the request may have been written")]
    OutcomeUnknown,
    /// The data of this request is at fault. Nothing of it was written: correct it.
    #[error("the request was refused; nothing of it was written")]
    Refused(#[source] E),
    /// The batch of this request failed. Nothing of it was written: submit it again once the cause
    /// is gone.
    #[error("the commit failed; nothing of it was written")]
    Failed(#[source] E),
    /// The committer could not tell whether the batch of this request was written: look it up
    /// before submitting it again.
    #[error("the commit broke off; the request may have been written")]
    Unknown(#[source] E),
    /// The committer panicked on the batch of this request, or broke its contract. It may have been
    /// written: look it up, and report the bug in the committer. The queue goes on.
    #[error("the committer panicked; the request may have been written")]
    Panicked,
}

impl<E> SubmitError<E> {
    /// Whether the request may have been written all the same. Where this is false, nothing of it
    /// was written and nothing will be.
    pub fn may_have_been_written(&self) -> bool {
        matches!(
            self,
            Self::OutcomeUnknown | Self::Unknown(_) | Self::Panicked
        )
    }
}
