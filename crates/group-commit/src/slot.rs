//! Delivers one outcome to one caller, exactly once.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use store_meter::Timer;

use crate::error::SubmitError;
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// The caller's side of a slot.
pub(crate) struct Slot<V, E>(Mutex<Phase<V, E>>);

enum Phase<V, E> {
    Waiting(Option<Waker>),
    /// The caller was asked to commit the next batch.
    Called,
    Decided(Result<V, SubmitError<E>>),
    Collected,
}

/// A message to a waiting caller.
pub(crate) enum Notice<V, E> {
    /// Commit the next batch. A thread that gets this notice already has the right to commit; a
    /// task must still take it.
    Lead,
    Outcome(Result<V, SubmitError<E>>),
}

/// The committing side of a slot. Dropping it without an outcome gives the caller `OutcomeUnknown`,
/// so a commit that is dropped half-way leaves no caller waiting.
pub(crate) struct Caller<V, E> {
    slot: Option<Arc<Slot<V, E>>>,
    arrived: Timer,
}

/// Both sides of a new slot.
pub(crate) fn slot<V, E>() -> (Caller<V, E>, Arc<Slot<V, E>>) {
    let slot = Arc::new(Slot(Mutex::new(Phase::Waiting(None))));
    let caller = Caller {
        slot: Some(Arc::clone(&slot)),
        arrived: Timer::start(),
    };
    (caller, slot)
}

impl<V, E> Slot<V, E> {
    /// Takes the notice, if there is one. Otherwise registers the task of `cx`, and the next notice
    /// wakes it.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<Notice<V, E>> {
        let mut phase = self.lock();
        match &mut *phase {
            Phase::Waiting(Some(waker)) => waker.clone_from(cx.waker()),
            Phase::Waiting(waker @ None) => *waker = Some(cx.waker().clone()),
            Phase::Called => {
                *phase = Phase::Waiting(None);
                return Poll::Ready(Notice::Lead);
            }
            Phase::Decided(_) | Phase::Collected => {}
        }
        match take_decided(&mut phase) {
            Some(outcome) => Poll::Ready(Notice::Outcome(outcome)),
            None => Poll::Pending,
        }
    }

    /// Takes the outcome, if there is one.
    pub(crate) fn take(&self) -> Option<Result<V, SubmitError<E>>> {
        take_decided(&mut self.lock())
    }

    /// Whether the caller is called to commit, and has not taken the notice.
    pub(crate) fn is_called_to_lead(&self) -> bool {
        matches!(*self.lock(), Phase::Called)
    }

    /// Sets the next phase. Returns the waker to wake.
    fn set_phase(&self, next: Phase<V, E>) -> Option<Waker> {
        match std::mem::replace(&mut *self.lock(), next) {
            Phase::Waiting(waker) => waker,
            Phase::Called | Phase::Decided(_) | Phase::Collected => None,
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
    match std::mem::replace(phase, Phase::Collected) {
        Phase::Decided(outcome) => Some(outcome),
        _ => None,
    }
}

impl<V, E> Caller<V, E> {
    /// Gives the caller its outcome. Returns the waker to wake.
    pub(crate) fn decide(mut self, outcome: Result<V, SubmitError<E>>) -> Option<Waker> {
        self.slot.take()?.set_phase(Phase::Decided(outcome))
    }

    /// Calls the caller to commit the next batch. Returns the waker to wake.
    pub(crate) fn call_to_lead(&self) -> Option<Waker> {
        self.slot.as_ref()?.set_phase(Phase::Called)
    }

    /// The time of the call.
    pub(crate) fn arrived(&self) -> Timer {
        self.arrived
    }
}

impl<V, E> Drop for Caller<V, E> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            let unknown = Phase::Decided(Err(SubmitError::OutcomeUnknown));
            if let Some(waker) = slot.set_phase(unknown) {
                waker.wake();
            }
        }
    }
}
