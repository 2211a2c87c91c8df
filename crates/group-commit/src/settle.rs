//! Commits one batch: runs the committer, catches its panics, and bisects a refused batch.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use crate::batch::{Answer, Batch, Settled};
use crate::commit::{Commit, CommitError};
use crate::error::SubmitError;

/// Commits `batch`. If the batch is bisected, the callers of each part get their outcomes as soon
/// as that part is settled. The last part is returned to the leader, which may start the next
/// commit before it delivers the outcomes.
pub(crate) async fn settle<C: Commit>(committer: &C, mut batch: Batch<C>) -> Settled<C> {
    let mut later = Vec::new();
    loop {
        let answer = match commit(committer, &mut batch).await {
            Ok(verdicts) => Answer::Each(verdicts),
            Err(SubmitError::Refused(error)) => match batch.split_off_half() {
                Some(half) => {
                    later.push(half);
                    continue;
                }
                None => Answer::All(SubmitError::Refused(error)),
            },
            Err(error) => Answer::All(error),
        };
        let settled = Settled { batch, answer };
        let Some(half) = later.pop() else {
            return settled;
        };
        drop(settled.deliver());
        batch = half;
    }
}

/// Calls the committer once.
async fn commit<C: Commit>(
    committer: &C,
    batch: &mut Batch<C>,
) -> Result<Vec<C::Verdict>, SubmitError<C::Error>> {
    let requests = batch.requests();
    let checked = async {
        let expected = requests.len();
        let result = committer.commit(requests).await;
        if let Ok(verdicts) = &result {
            assert_eq!(
                verdicts.len(),
                expected,
                "a committer owes one verdict per request"
            );
        }
        result
    };
    match catch_panic(checked).await {
        Some(result) => result.map_err(|error| match error {
            CommitError::Refused(error) => SubmitError::Refused(error),
            CommitError::Failed(error) => SubmitError::Failed(error),
            CommitError::Unknown(error) => SubmitError::Unknown(error),
        }),
        None => Err(SubmitError::Panicked),
    }
}

/// The output of `future`, or `None` if it panicked.
///
/// The unwind cannot expose broken state: the future is not polled again, and the batch that it
/// borrowed is discarded.
async fn catch_panic<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(
        |cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Some),
            Err(_) => Poll::Ready(None),
        },
    )
    .await
}
