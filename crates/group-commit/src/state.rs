//! The state machine of a queue: who may write, who waits, what is closed. No I/O, no locks and no
//! wake-ups: each step returns whom to wake once the lock is released.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::batch::{Batch, Pending, SlotOf};
use crate::commit::Commit;
use crate::limits::Limits;
use crate::line::{Line, Ticket};
use crate::slot;
use crate::stats::Stats;

/// Who holds the right to commit. It is `Free` only while nobody waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    /// The next to come commits at once.
    Free,
    /// One leader or driver, until it gives the right up.
    Busy,
    /// The caller at the front of the line, who has been told or is about to be.
    Promised(Ticket),
}

/// What becomes of a request that arrives.
pub(crate) enum Arrival<C: Commit> {
    /// The writer was free: it is at the front of the line, and its caller commits.
    Lead(Ticket, Arc<SlotOf<C>>),
    /// It waits in line.
    Wait(Ticket, Arc<SlotOf<C>>),
    Full,
    Closed,
}

/// What a caller does where there is no room.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manners {
    Wait,
    TurnAway,
}

/// Whom to wake after the right to commit was given up.
pub(crate) enum Release<C: Commit> {
    /// This waiter commits next.
    Promote(Arc<SlotOf<C>>),
    /// The queue is idle; these wait for that.
    Idle(Vec<Waker>),
}

pub(crate) struct State<C: Commit> {
    limits: Limits,
    line: Line<Pending<C>>,
    writer: Writer,
    closed: bool,
    until_idle: Vec<Waker>,
    /// How many batches of one caller came since one of several.
    alone: u32,
    batches: u64,
    requests: u64,
    largest_batch: usize,
    withdrawn: u64,
}

impl<C: Commit> State<C> {
    pub(crate) const fn new(limits: Limits) -> Self {
        Self {
            limits,
            line: Line::new(),
            writer: Writer::Free,
            closed: false,
            until_idle: Vec::new(),
            alone: u32::MAX,
            batches: 0,
            requests: 0,
            largest_batch: 0,
            withdrawn: 0,
        }
    }

    pub(crate) fn arrive(
        &mut self,
        request: C::Request,
        bytes: usize,
        manners: Manners,
    ) -> Arrival<C> {
        if self.closed {
            return Arrival::Closed;
        }
        if manners == Manners::TurnAway && !self.line.has_room(bytes, &self.limits) {
            return Arrival::Full;
        }
        let (caller, slot) = slot::slot();
        let ticket = self
            .line
            .push(bytes, Pending { request, caller }, &self.limits);
        if self.writer == Writer::Free {
            self.writer = Writer::Busy;
            return Arrival::Lead(ticket, slot);
        }
        Arrival::Wait(ticket, slot)
    }

    /// Takes a request out of the line, and the right to commit from it if it was promised that.
    /// `None` once the request is in a batch.
    pub(crate) fn withdraw(&mut self, ticket: Ticket) -> Option<(Pending<C>, Option<Release<C>>)> {
        let pending = self.line.withdraw(ticket, &self.limits)?;
        self.withdrawn += 1;
        let release = (self.writer == Writer::Promised(ticket)).then(|| self.release());
        Some((pending, release))
    }

    /// The promised caller takes the right to commit, and keeps it even if it is withdrawn.
    pub(crate) fn accept(&mut self) {
        self.writer = Writer::Busy;
    }

    /// The next batch, if anyone waits. Only for who holds the right to commit, and keeps it.
    pub(crate) fn take_batch(&mut self) -> Option<Batch<C>> {
        if self.line.is_empty() {
            return None;
        }
        let batch: Batch<C> = self.line.take_batch(&self.limits);
        self.count_batch(batch.len());
        Some(batch)
    }

    /// How many wait for the next batch; `None` where it has no room for those who may arrive in a
    /// moment.
    pub(crate) fn filling(&self) -> Option<usize> {
        (!self.line.fills_a_batch(&self.limits)).then(|| self.line.queued())
    }

    /// Promises the right to commit to the front of the line. `None`, and nothing changes, where
    /// nobody waits.
    pub(crate) fn promise(&mut self) -> Option<Arc<SlotOf<C>>> {
        let (ticket, front) = self.line.front()?;
        let slot = front.caller.slot()?;
        self.writer = Writer::Promised(ticket);
        Some(slot)
    }

    /// Gives up the right to commit.
    pub(crate) fn release(&mut self) -> Release<C> {
        if let Some(slot) = self.promise() {
            return Release::Promote(slot);
        }
        self.writer = Writer::Free;
        Release::Idle(std::mem::take(&mut self.until_idle))
    }

    /// Whether callers come together, as far as the last batches tell. One of them may have missed
    /// the others.
    pub(crate) fn is_crowded(&self) -> bool {
        self.alone < 2
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.writer == Writer::Free {
            return Poll::Ready(());
        }
        if !self
            .until_idle
            .iter()
            .any(|waker| waker.will_wake(cx.waker()))
        {
            self.until_idle.push(cx.waker().clone());
        }
        Poll::Pending
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats {
            batches: self.batches,
            requests: self.requests,
            largest_batch: self.largest_batch,
            withdrawn: self.withdrawn,
            queued: self.line.queued(),
            queued_bytes: self.line.queued_bytes(),
            waiting_for_room: self.line.waiting_for_room(),
        }
    }

    fn count_batch(&mut self, len: usize) {
        self.alone = if len > 1 {
            0
        } else {
            self.alone.saturating_add(1)
        };
        self.batches += 1;
        self.requests += len as u64;
        self.largest_batch = self.largest_batch.max(len);
    }
}
