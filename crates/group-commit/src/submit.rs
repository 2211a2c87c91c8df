//! The future of one submitted request.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::Outcome;
use crate::batch::SlotOf;
use crate::commit::Commit;
use crate::drive::Drive;
use crate::error::SubmitError;
use crate::inner::Inner;
use crate::slot::Notice;
use crate::state::{Arrival, WhenFull};
use crate::wait_queue::Ticket;

/// Dropping this future withdraws a request that is still queued. The commit of a request in flight
/// goes on.
pub(crate) struct Submit<'q, C: Commit> {
    inner: &'q Arc<Inner<C>>,
    when_full: WhenFull,
    /// `Some` until the first poll.
    request: Option<C::Request>,
    role: Role<C>,
}

enum Role<C: Commit> {
    /// The request has not arrived yet, or has its outcome.
    Outside,
    Waiting(Ticket, Arc<SlotOf<C>>),
    /// This caller commits. Until it takes a batch, its own request still waits in the queue.
    Leading(Drive<C>, Ticket, Arc<SlotOf<C>>),
}

/// A submission pins only the commit of its drive, which is boxed.
impl<C: Commit> Unpin for Submit<'_, C> {}

impl<'q, C: Commit> Submit<'q, C> {
    pub(crate) fn new(inner: &'q Arc<Inner<C>>, request: C::Request, when_full: WhenFull) -> Self {
        Self {
            inner,
            when_full,
            request: Some(request),
            role: Role::Outside,
        }
    }

    /// Whether this future was polled before.
    pub(crate) fn has_arrived(&self) -> bool {
        self.request.is_none()
    }

    /// Stops waiting. If the request was still queued, it is withdrawn and never written.
    pub(crate) fn expire(&mut self) -> Outcome<C> {
        match std::mem::replace(&mut self.role, Role::Outside) {
            Role::Outside => Err(SubmitError::TimedOut),
            Role::Waiting(ticket, _) if self.inner.withdraw(ticket) => Err(SubmitError::TimedOut),
            Role::Waiting(_, slot) => outcome_so_far::<C>(&slot),
            Role::Leading(drive, ticket, slot) => {
                if self.inner.withdraw(ticket) {
                    // The commit has not begun. Dropping the drive promotes the next waiting
                    // caller.
                    drop(drive);
                    return Err(SubmitError::TimedOut);
                }
                drive.detach();
                outcome_so_far::<C>(&slot)
            }
        }
    }

    fn arrive(&mut self) -> Result<(), SubmitError<C::Error>> {
        let Some(request) = self.request.take() else {
            return Ok(());
        };
        self.role = match self.inner.arrive(request, self.when_full) {
            Arrival::Lead(ticket, slot) => Role::Leading(Drive::lead(self.inner), ticket, slot),
            Arrival::Wait(ticket, slot) => Role::Waiting(ticket, slot),
            Arrival::Full => return Err(SubmitError::Full),
            Arrival::Closed => return Err(SubmitError::Closed),
        };
        Ok(())
    }

    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Outcome<C>> {
        let Role::Waiting(ticket, slot) = &self.role else {
            return Poll::Pending;
        };
        match ready!(slot.poll(cx)) {
            Notice::Outcome(outcome) => {
                self.role = Role::Outside;
                Poll::Ready(outcome)
            }
            Notice::Lead => {
                let drive = Drive::promoted(self.inner);
                self.role = Role::Leading(drive, *ticket, Arc::clone(slot));
                Poll::Pending
            }
        }
    }

    fn lead(&mut self, cx: &mut Context<'_>) -> Poll<Outcome<C>> {
        let Role::Leading(drive, _, slot) = &mut self.role else {
            return Poll::Pending;
        };
        // Ignore whether the drive is finished: only this caller's own outcome matters here. A
        // drive with more to do is detached below.
        let _ = Pin::new(drive).poll(cx);
        let Some(outcome) = slot.take() else {
            return Poll::Pending;
        };
        if let Role::Leading(drive, ..) = std::mem::replace(&mut self.role, Role::Outside) {
            drive.detach();
        }
        Poll::Ready(outcome)
    }
}

impl<C: Commit> Future for Submit<'_, C> {
    type Output = Outcome<C>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.arrive()?;
        match self.wait(cx) {
            Poll::Ready(outcome) => Poll::Ready(outcome),
            Poll::Pending => self.lead(cx),
        }
    }
}

impl<C: Commit> Drop for Submit<'_, C> {
    fn drop(&mut self) {
        drop(self.expire());
    }
}

fn outcome_so_far<C: Commit>(slot: &SlotOf<C>) -> Outcome<C> {
    slot.take().unwrap_or(Err(SubmitError::OutcomeUnknown))
}
