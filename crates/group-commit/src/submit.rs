//! The future of one submitted request.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::Outcome;
use crate::batch::{SlotOf, outcome_so_far};
use crate::commit::Commit;
use crate::drive::Driver;
use crate::error::SubmitError;
use crate::slot::Notice;
use crate::state::{Arrival, WhenFull};
use crate::wait_queue::Ticket;

/// Dropping this future withdraws a request that is still queued. The commit of a request in flight
/// goes on.
pub(crate) struct Submit<'q, C: Commit> {
    driver: &'q Arc<Driver<C>>,
    when_full: WhenFull,
    /// `Some` until the first poll.
    request: Option<C::Request>,
    /// `Some` from the first poll until the request has its outcome.
    waiting: Option<(Ticket, Arc<SlotOf<C>>)>,
}

/// No field needs to stay at its address.
impl<C: Commit> Unpin for Submit<'_, C> {}

impl<'q, C: Commit> Submit<'q, C> {
    pub(crate) fn new(
        driver: &'q Arc<Driver<C>>,
        request: C::Request,
        when_full: WhenFull,
    ) -> Self {
        Self {
            driver,
            when_full,
            request: Some(request),
            waiting: None,
        }
    }

    /// Whether this future was polled before.
    pub(crate) fn has_arrived(&self) -> bool {
        self.request.is_none()
    }

    /// Stops waiting. If the request was still queued, it is withdrawn and never written.
    pub(crate) fn expire(&mut self) -> Outcome<C> {
        match self.waiting.take() {
            Some((ticket, slot)) if self.driver.inner.withdraw(ticket).is_none() => {
                outcome_so_far::<C>(&slot)
            }
            _ => Err(SubmitError::TimedOut),
        }
    }

    fn arrive(&mut self) -> Result<(), SubmitError<C::Error>> {
        let Some(request) = self.request.take() else {
            return Ok(());
        };
        match self.driver.inner.arrive(request, self.when_full) {
            Arrival::Lead(ticket, slot) => {
                self.waiting = Some((ticket, slot));
                self.driver.start();
            }
            Arrival::Wait(ticket, slot) => self.waiting = Some((ticket, slot)),
            Arrival::Full => return Err(SubmitError::Full),
            Arrival::Closed => return Err(SubmitError::Closed),
        }
        Ok(())
    }
}

impl<C: Commit> Future for Submit<'_, C> {
    type Output = Outcome<C>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.arrive()?;
        while let Some((_, slot)) = &self.waiting {
            match ready!(slot.poll(cx)) {
                Notice::Outcome(outcome) => {
                    self.waiting = None;
                    return Poll::Ready(outcome);
                }
                // The task that committed was dropped. The loop ends even if the next tasks are
                // dropped too, because each of them decides at least one request.
                Notice::Lead => {
                    if self.driver.inner.take_right() {
                        self.driver.start();
                    }
                }
            }
        }
        Poll::Pending
    }
}

impl<C: Commit> Drop for Submit<'_, C> {
    fn drop(&mut self) {
        drop(self.expire());
    }
}
