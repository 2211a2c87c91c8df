//! The state machine of a queue: the right to commit, the waiting requests, and whether it is
//! closed.
//!
//! It does no I/O, takes no lock and wakes no task. Each step returns the wakers to wake after the
//! lock is released, so that a waker never runs under the lock.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::batch::{Batch, Pending, SlotOf};
use crate::commit::Commit;
use crate::limits::Limits;
use crate::slot;
use crate::stats::Stats;
use crate::wait_queue::{Ticket, WaitQueue};

/// The right to commit. It is `Free` only while no request waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommitRight {
    /// The next caller commits at once.
    Free,
    /// A leader holds the right.
    Held,
    /// The first waiting caller holds the right. It has been promoted, or is promoted as soon as
    /// the lock is released.
    Promised(Ticket),
}

/// The result of an arrival.
pub(crate) enum Arrival<C: Commit> {
    /// The right to commit was free. The request is first in the queue, and its caller commits the next
    /// batch.
    Lead(Ticket, Arc<SlotOf<C>>),
    /// The request waits.
    Wait(Ticket, Arc<SlotOf<C>>),
    Full,
    Closed,
}

/// Behaviour of a caller when the queue is full.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenFull {
    Wait,
    Refuse,
}

/// The wake-ups after a release of the right to commit.
pub(crate) enum Release<C: Commit> {
    /// This waiter commits next.
    Promote(Arc<SlotOf<C>>),
    /// The queue is idle. These tasks wait in `close`.
    Idle(Vec<Waker>),
}

pub(crate) struct State<C: Commit> {
    limits: Limits,
    waiting: WaitQueue<Pending<C>>,
    right: CommitRight,
    closed: bool,
    until_idle: Vec<Waker>,
    /// Number of batches with a single caller since the last batch with several callers.
    lone_batches: u32,
    batches: u64,
    requests: u64,
    largest_batch: usize,
    withdrawn: u64,
}

impl<C: Commit> State<C> {
    pub(crate) const fn new(limits: Limits) -> Self {
        Self {
            limits,
            waiting: WaitQueue::new(),
            right: CommitRight::Free,
            closed: false,
            until_idle: Vec::new(),
            // No batch has had several callers yet.
            lone_batches: u32::MAX,
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
        when_full: WhenFull,
    ) -> Arrival<C> {
        if self.closed {
            return Arrival::Closed;
        }
        if when_full == WhenFull::Refuse && !self.waiting.has_room(bytes, &self.limits) {
            return Arrival::Full;
        }
        let (caller, slot) = slot::slot();
        let ticket = self.waiting.push(bytes, (request, caller), &self.limits);
        if self.right == CommitRight::Free {
            self.right = CommitRight::Held;
            return Arrival::Lead(ticket, slot);
        }
        Arrival::Wait(ticket, slot)
    }

    /// Removes a waiting request, and passes on the right to commit if it was promised to this
    /// caller. `None` if the request is in a batch already.
    pub(crate) fn withdraw(&mut self, ticket: Ticket) -> Option<(Pending<C>, Option<Release<C>>)> {
        let pending = self.waiting.withdraw(ticket, &self.limits)?;
        self.withdrawn += 1;
        let release = (self.right == CommitRight::Promised(ticket)).then(|| self.release());
        Some((pending, release))
    }

    /// The promoted caller takes the right to commit, and keeps it even if its request is
    /// withdrawn.
    pub(crate) fn accept(&mut self) {
        self.right = CommitRight::Held;
    }

    /// The next batch, if any request waits. Only the holder of the right to commit may call this;
    /// it keeps the right.
    pub(crate) fn take_batch(&mut self) -> Option<Batch<C>> {
        if self.waiting.is_empty() {
            return None;
        }
        let batch: Batch<C> = self.waiting.take_batch(&self.limits);
        self.count_batch(batch.len());
        Some(batch)
    }

    /// How many requests wait for the next batch. `None` if no further request would fit into it.
    pub(crate) fn filling(&self) -> Option<usize> {
        (!self.waiting.fills_a_batch(&self.limits)).then(|| self.waiting.queued())
    }

    /// Promises the right to commit to the first waiting caller. `None` if no request waits; then
    /// nothing changes.
    pub(crate) fn promise(&mut self) -> Option<Arc<SlotOf<C>>> {
        let (ticket, (_, caller)) = self.waiting.front()?;
        let slot = caller.slot()?;
        self.right = CommitRight::Promised(ticket);
        Some(slot)
    }

    /// Releases the right to commit.
    pub(crate) fn release(&mut self) -> Release<C> {
        if let Some(slot) = self.promise() {
            return Release::Promote(slot);
        }
        self.right = CommitRight::Free;
        Release::Idle(std::mem::take(&mut self.until_idle))
    }

    /// Whether one of the last two batches had several callers. The last batch alone is not enough,
    /// because a caller may once arrive too late for the batch of the others.
    pub(crate) fn callers_arrive_together(&self) -> bool {
        self.lone_batches < 2
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.right == CommitRight::Free {
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
            queued: self.waiting.queued(),
            queued_bytes: self.waiting.queued_bytes(),
            waiting_for_room: self.waiting.waiting_for_room(),
        }
    }

    fn count_batch(&mut self, len: usize) {
        self.lone_batches = if len > 1 {
            0
        } else {
            self.lone_batches.saturating_add(1)
        };
        self.batches += 1;
        self.requests += len as u64;
        self.largest_batch = self.largest_batch.max(len);
    }
}
