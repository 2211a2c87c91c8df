use std::time::{Duration, Instant};

use tokio::time::timeout_at;

use crate::{Backoff, deadline_after};

/// The meaning of a failed try for a write that is tried again with the same ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryFailed {
    /// No try has written it, and none will.
    Definite,
    /// This try may have written it.
    Unknown,
    /// This try wrote nothing, and a later one may succeed.
    Transient,
    /// This try wrote nothing, and a later one would fail in the same way.
    Final,
}

/// Tries a write until its outcome is known or `limit` is over. Each try must write the same ids, so that
/// the write happens once. No try begins after `limit`.
///
/// # Errors
/// The error of the last try. If that is not definite, and an earlier try may have written, the error of
/// that one.
pub async fn until_known<T, E, Tried>(
    limit: Duration,
    mut write: impl FnMut() -> Tried + Send,
    meaning: impl Fn(&E) -> TryFailed + Send,
) -> Result<T, E>
where
    E: Send,
    Tried: Future<Output = Result<T, E>> + Send,
{
    let deadline = deadline_after(Instant::now(), limit).into();
    let mut backoff = Backoff::default();
    let mut unknown = None;
    loop {
        let error = match write().await {
            Err(error) if meaning(&error) != TryFailed::Definite => error,
            ended => return ended,
        };
        let meaning = meaning(&error);
        let may_pass = matches!(meaning, TryFailed::Unknown | TryFailed::Transient);
        if !may_pass || timeout_at(deadline, backoff.pause()).await.is_err() {
            // A later try wrote nothing, but an earlier one may have.
            return Err(unknown.unwrap_or(error));
        }
        if meaning == TryFailed::Unknown {
            unknown = Some(error);
        }
    }
}
