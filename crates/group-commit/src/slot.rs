//! Where one caller gets its outcome: exactly once, from whoever commits its request.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::error::SubmitError;
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// The caller's side.
pub(crate) struct Slot<V, E>(Mutex<Phase<V, E>>);

enum Phase<V, E> {
    Waiting(Option<Waker>),
    /// The caller is to commit the next batch itself.
    Promoted,
    Decided(Result<V, SubmitError<E>>),
    Taken,
}

/// What a waiting caller learns.
pub(crate) enum News<V, E> {
    /// Commit the next batch; it holds your request.
    Lead,
    Outcome(Result<V, SubmitError<E>>),
}

/// The committing side. Dropped without an outcome, it tells the caller that there will be none:
/// a commit that is thrown away half-way leaves nobody waiting.
pub(crate) struct Caller<V, E>(Option<Arc<Slot<V, E>>>);

/// Both sides of a new slot.
pub(crate) fn slot<V, E>() -> (Caller<V, E>, Arc<Slot<V, E>>) {
    let slot = Arc::new(Slot(Mutex::new(Phase::Waiting(None))));
    (Caller(Some(Arc::clone(&slot))), slot)
}

impl<V, E> Slot<V, E> {
    /// Takes the news, or has the task of `cx` woken when there is some.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<News<V, E>> {
        let mut phase = self.lock();
        match &mut *phase {
            Phase::Waiting(Some(waker)) => waker.clone_from(cx.waker()),
            Phase::Waiting(waker @ None) => *waker = Some(cx.waker().clone()),
            Phase::Promoted => {
                *phase = Phase::Waiting(None);
                return Poll::Ready(News::Lead);
            }
            Phase::Decided(_) | Phase::Taken => {}
        }
        match take_decided(&mut phase) {
            Some(outcome) => Poll::Ready(News::Outcome(outcome)),
            None => Poll::Pending,
        }
    }

    /// Takes the outcome, if there is one.
    pub(crate) fn take(&self) -> Option<Result<V, SubmitError<E>>> {
        take_decided(&mut self.lock())
    }

    /// Tells a waiting caller to commit the next batch.
    pub(crate) fn promote(&self) {
        self.advance(Phase::Promoted);
    }

    fn advance(&self, next: Phase<V, E>) {
        if let Some(waker) = self.turn(next) {
            waker.wake();
        }
    }

    /// The next phase; returns whom to wake.
    fn turn(&self, next: Phase<V, E>) -> Option<Waker> {
        match std::mem::replace(&mut *self.lock(), next) {
            Phase::Waiting(waker) => waker,
            Phase::Promoted | Phase::Decided(_) | Phase::Taken => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Phase<V, E>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take_decided<V, E>(phase: &mut Phase<V, E>) -> Option<Result<V, SubmitError<E>>> {
    if !matches!(phase, Phase::Decided(_)) {
        return None;
    }
    match std::mem::replace(phase, Phase::Taken) {
        Phase::Decided(outcome) => Some(outcome),
        _ => None,
    }
}

impl<V, E> Caller<V, E> {
    /// Gives the caller its outcome. Returns whom to wake.
    pub(crate) fn decide(mut self, outcome: Result<V, SubmitError<E>>) -> Option<Waker> {
        self.0.take()?.turn(Phase::Decided(outcome))
    }

    /// The caller's side, to promote it.
    pub(crate) fn slot(&self) -> Option<Arc<Slot<V, E>>> {
        self.0.clone()
    }
}

impl<V, E> Drop for Caller<V, E> {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            slot.advance(Phase::Decided(Err(SubmitError::OutcomeUnknown)));
        }
    }
}
