/// Why a submitted request has no verdict, and what the caller can do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError<E> {
    /// The queue is full and the caller asked not to wait. Nothing was written: try again later or
    /// shed load.
    #[error("the commit queue is full")]
    Full,
    /// The queue was closed before the request arrived. Nothing was written: submit elsewhere.
    #[error("the commit queue is closed")]
    Closed,
    /// The deadline passed before the commit of the request began. It was not and will not be written: try again
    /// later, or give up.
    #[error("timed out before the commit; nothing was written")]
    TimedOut,
    /// The deadline passed during the commit of the request, or the runtime that drove the commit
    /// shut down. The request may have been written, or may still be written: look it up before you
    /// submit it again.
    #[error("no verdict came in time; the request may have been written")]
    OutcomeUnknown,
    /// This request is invalid. Nothing of it was written: correct the request.
    #[error("the request was refused; nothing of it was written")]
    Refused(#[source] E),
    /// The commit of this request's batch failed. Nothing was written. The source says what to do.
    #[error("the commit failed; nothing of it was written")]
    Failed(#[source] E),
    /// The committer does not know whether this request's batch was written: look the request up
    /// before you submit it again.
    #[error("the commit broke off; the request may have been written")]
    Unknown(#[source] E),
    /// The committer panicked on this request's batch, or broke its contract. The request may have
    /// been written: look it up, and report the bug in the committer. The queue stays usable.
    #[error("the committer panicked; the request may have been written")]
    Panicked,
}

impl<E> SubmitError<E> {
    /// Whether the request may have been written, now or later. If false, it was not and will not
    /// be written.
    pub fn may_have_been_written(&self) -> bool {
        matches!(
            self,
            Self::OutcomeUnknown | Self::Unknown(_) | Self::Panicked
        )
    }
}
