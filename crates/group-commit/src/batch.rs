//! One batch: the requests that the committer gets, and the callers that wait for them. Commits it,
//! and delivers the outcomes.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Poll, Waker};

use store_meter::Timer;

use crate::Outcome;
use crate::commit::{Commit, CommitError};
use crate::error::SubmitError;
use crate::slot::{Caller, Slot};
use crate::sync::has_passed;
use crate::wake_all;

pub(crate) type CallerOf<C> = Caller<<C as Commit>::Verdict, <C as Commit>::Error>;
pub(crate) type SlotOf<C> = Slot<<C as Commit>::Verdict, <C as Commit>::Error>;

/// The outcome for a caller that stops waiting while its request is in a batch.
pub(crate) fn outcome_so_far<C: Commit>(slot: &SlotOf<C>) -> Outcome<C> {
    slot.take().unwrap_or(Err(SubmitError::OutcomeUnknown))
}

/// A request and the caller that waits for it.
pub(crate) type Pending<C> = (<C as Commit>::Request, CallerOf<C>);

/// Requests that are committed together. A single request needs no vector.
pub(crate) enum Batch<C: Commit> {
    Alone(C::Request, CallerOf<C>),
    Many(Vec<C::Request>, Vec<CallerOf<C>>),
}

impl<C: Commit> Batch<C> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Alone(..) => 1,
            Self::Many(requests, _) => requests.len(),
        }
    }

    fn callers(&self) -> &[CallerOf<C>] {
        match self {
            Self::Alone(_, caller) => std::slice::from_ref(caller),
            Self::Many(_, callers) => callers,
        }
    }

    pub(crate) fn requests(&mut self) -> &mut [C::Request] {
        match self {
            Self::Alone(request, _) => std::slice::from_mut(request),
            Self::Many(requests, _) => requests,
        }
    }

    /// Takes out the requests whose deadline has passed, and tells their callers.
    fn expire(&mut self, committer: &C) {
        let is_late = |request: &C::Request| committer.deadline(request).is_some_and(has_passed);
        if !self.requests().iter().any(is_late) {
            return;
        }
        let taken = std::mem::replace(self, Self::Many(Vec::new(), Vec::new()));
        let pending: Vec<Pending<C>> = match taken {
            Self::Alone(request, caller) => vec![(request, caller)],
            Self::Many(requests, callers) => requests.into_iter().zip(callers).collect(),
        };
        let (late, live): (Vec<_>, Vec<_>) = pending
            .into_iter()
            .partition(|(request, _)| is_late(request));
        *self = live.into_iter().collect();
        late.into_iter()
            .filter_map(|(_, caller)| caller.decide(Err(SubmitError::TimedOut)))
            .for_each(Waker::wake);
    }

    /// Splits off the second half. `None` for a single request.
    pub(crate) fn split_off_half(&mut self) -> Option<Self> {
        match self {
            Self::Many(requests, callers) if requests.len() > 1 => {
                let half = requests.len() / 2;
                Some(Self::Many(
                    requests.split_off(half),
                    callers.split_off(half),
                ))
            }
            Self::Alone(..) | Self::Many(..) => None,
        }
    }

    /// Splits the batch into its requests and its callers. A single request is dropped here.
    /// Dropping many requests is slow, so they are returned, to be dropped after the callers are
    /// woken.
    fn into_parts(self) -> (Vec<C::Request>, impl Iterator<Item = CallerOf<C>>) {
        let (requests, one, many) = match self {
            Self::Alone(_, caller) => (Vec::new(), Some(caller), Vec::new()),
            Self::Many(requests, callers) => (requests, None, callers),
        };
        (requests, one.into_iter().chain(many))
    }
}

impl<C: Commit> FromIterator<Pending<C>> for Batch<C> {
    fn from_iter<I: IntoIterator<Item = Pending<C>>>(pending: I) -> Self {
        let mut pending = pending.into_iter();
        match (pending.next(), pending.next()) {
            (Some((request, caller)), None) => Self::Alone(request, caller),
            (first, second) => {
                let first_two = first.into_iter().chain(second);
                let (requests, callers) = first_two.chain(pending).unzip();
                Self::Many(requests, callers)
            }
        }
    }
}

/// A batch whose commit has ended and whose callers have not been woken yet.
pub(crate) struct Undelivered<C: Commit> {
    pub(crate) batch: Batch<C>,
    /// One verdict per request, or one error for all of them.
    verdicts: Result<Vec<C::Verdict>, SubmitError<C::Error>>,
}

impl<C: Commit> Undelivered<C> {
    /// Gives each caller its outcome and wakes it. Returns the requests, so that they can be
    /// dropped later.
    pub(crate) fn deliver(self) -> Vec<C::Request> {
        self.decide(Waker::wake)
    }

    /// Like [`Undelivered::deliver`], but wakes all callers at once, through `defer`.
    pub(crate) fn deliver_together(self, defer: fn(&Waker)) -> Vec<C::Request> {
        if self.batch.len() == 1 {
            return self.deliver();
        }
        let mut wakers = Vec::with_capacity(self.batch.len());
        let spent = self.decide(|waker| wakers.push(waker));
        if !wakers.is_empty() {
            defer(&wake_all::waker_for(wakers));
        }
        spent
    }

    fn decide(self, wake: impl FnMut(Waker)) -> Vec<C::Request> {
        let (spent, callers) = self.batch.into_parts();
        match self.verdicts {
            Ok(verdicts) => callers
                .zip(verdicts)
                .filter_map(|(caller, verdict)| caller.decide(Ok(verdict)))
                .for_each(wake),
            Err(error) => callers
                .filter_map(|caller| caller.decide(Err(error.clone())))
                .for_each(wake),
        }
        spent
    }
}

/// Commits `batch`. If the batch is bisected, the callers of each part get their outcomes as soon
/// as that part is settled. The last part is returned to the leader, which may start the next
/// commit before it delivers the outcomes.
pub(crate) async fn settle<C: Commit>(committer: &C, mut batch: Batch<C>) -> Undelivered<C> {
    let mut later = Vec::new();
    if let Some(meter) = committer.meter() {
        let arrived = batch.callers().iter().map(Caller::arrived);
        arrived.for_each(|arrived| meter.left_queue(arrived));
    }
    loop {
        batch.expire(committer);
        let verdicts = match commit(committer, &mut batch).await {
            Some(Ok(verdicts)) => Ok(verdicts),
            Some(Err(CommitError::Late)) => continue,
            Some(Err(CommitError::Refused(error))) => match batch.split_off_half() {
                Some(half) => {
                    later.push(half);
                    continue;
                }
                None => Err(SubmitError::Refused(error)),
            },
            Some(Err(CommitError::Failed(error))) => Err(SubmitError::Failed(error)),
            Some(Err(CommitError::Unknown(error))) => Err(SubmitError::Unknown(error)),
            None => Err(SubmitError::Panicked),
        };
        let undelivered = Undelivered { batch, verdicts };
        let Some(half) = later.pop() else {
            return undelivered;
        };
        drop(undelivered.deliver());
        batch = half;
    }
}

/// Calls the committer once, unless the batch is empty. `None` if the committer panicked.
async fn commit<C: Commit>(
    committer: &C,
    batch: &mut Batch<C>,
) -> Option<Result<Vec<C::Verdict>, CommitError<C::Error>>> {
    let requests = batch.requests();
    let expected = requests.len();
    if expected == 0 {
        return Some(Ok(Vec::new()));
    }
    let begun = Timer::start();
    let checked = async {
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
    let result = catch_panic(checked).await;
    if let Some(meter) = committer.meter() {
        meter.committed(begun, expected);
    }
    result
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
