//! One request on its way through the queue, from the caller's side.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::Outcome;
use crate::batch::SlotOf;
use crate::commit::Commit;
use crate::drive::Drive;
use crate::error::SubmitError;
use crate::line::Ticket;
use crate::shared::Shared;
use crate::slot::News;
use crate::state::{Arrival, Manners};

/// Dropped while queued, it withdraws the request; dropped in flight, it lets the commit go on.
pub(crate) struct Submit<'q, C: Commit> {
    shared: &'q Arc<Shared<C>>,
    manners: Manners,
    /// Until the first poll.
    request: Option<C::Request>,
    place: Place<C>,
}

enum Place<C: Commit> {
    /// Not arrived yet, or gone.
    Outside,
    Waiting(Ticket, Arc<SlotOf<C>>),
    /// It commits; until it has taken its batch, its own request is still in line.
    Leading(Drive<C>, Ticket, Arc<SlotOf<C>>),
}

/// Nothing in it is pinned but the boxed commit of a drive.
impl<C: Commit> Unpin for Submit<'_, C> {}

impl<'q, C: Commit> Submit<'q, C> {
    pub(crate) fn new(shared: &'q Arc<Shared<C>>, request: C::Request, manners: Manners) -> Self {
        Self {
            shared,
            manners,
            request: Some(request),
            place: Place::Outside,
        }
    }

    /// Whether it was polled before.
    pub(crate) fn has_arrived(&self) -> bool {
        self.request.is_none()
    }

    /// Stops waiting. Nothing was written if the request was still queued.
    pub(crate) fn expire(&mut self) -> Outcome<C> {
        match std::mem::replace(&mut self.place, Place::Outside) {
            Place::Outside => Err(SubmitError::TimedOut),
            Place::Waiting(ticket, _) if self.shared.withdraw(ticket) => Err(SubmitError::TimedOut),
            Place::Waiting(_, slot) => outcome_so_far::<C>(&slot),
            Place::Leading(drive, ticket, slot) => {
                if self.shared.withdraw(ticket) {
                    // It had not begun to commit: the next in line does.
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
        self.place = match self.shared.arrive(request, self.manners) {
            Arrival::Lead(ticket, slot) => Place::Leading(Drive::lead(self.shared), ticket, slot),
            Arrival::Wait(ticket, slot) => Place::Waiting(ticket, slot),
            Arrival::Full => return Err(SubmitError::Full),
            Arrival::Closed => return Err(SubmitError::Closed),
        };
        Ok(())
    }

    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Outcome<C>> {
        let Place::Waiting(ticket, slot) = &self.place else {
            return Poll::Pending;
        };
        match ready!(slot.poll(cx)) {
            News::Outcome(outcome) => {
                self.place = Place::Outside;
                Poll::Ready(outcome)
            }
            News::Lead => {
                let drive = Drive::promoted(self.shared);
                self.place = Place::Leading(drive, *ticket, Arc::clone(slot));
                Poll::Pending
            }
        }
    }

    fn lead(&mut self, cx: &mut Context<'_>) -> Poll<Outcome<C>> {
        let Place::Leading(drive, _, slot) = &mut self.place else {
            return Poll::Pending;
        };
        // Only the leader's own outcome counts here; a drive that has more to do is detached.
        let _ = Pin::new(drive).poll(cx);
        let Some(outcome) = slot.take() else {
            return Poll::Pending;
        };
        if let Place::Leading(drive, ..) = std::mem::replace(&mut self.place, Place::Outside) {
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
