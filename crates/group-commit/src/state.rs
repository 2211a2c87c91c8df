//! The state machine of a queue: the right to commit, the waiting requests, and whether it is
//! closed.
//!
//! It does no I/O and wakes no task. Each step returns the wakers to wake after the lock is
//! released, so that a waker never runs under the lock.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::batch::{Batch, Pending, SlotOf};
use crate::commit::Commit;
use crate::limits::Limits;
use crate::slot;
use crate::stats::Stats;
use crate::wait_queue::{Ticket, WaitQueue};

/// The result of an arrival.
pub(crate) enum Arrival<C: Commit> {
    /// The request is in the queue, and its caller has got the right to commit.
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

pub(crate) struct State<C: Commit> {
    limits: Limits,
    waiting: WaitQueue<Pending<C>>,
    /// Whether the right to commit is taken.
    leading: bool,
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
            leading: false,
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
        match self.take_right() {
            true => Arrival::Lead(ticket, slot),
            false => Arrival::Wait(ticket, slot),
        }
    }

    /// Takes the right to commit if it is free and a request waits.
    pub(crate) fn take_right(&mut self) -> bool {
        let takes = !self.leading && !self.waiting.is_empty();
        self.leading |= takes;
        takes
    }

    /// Removes a waiting request, and returns it with the tasks to wake. `None` if the request is
    /// in a batch already.
    pub(crate) fn withdraw(&mut self, ticket: Ticket) -> Option<(Pending<C>, Vec<Waker>)> {
        let pending = self.waiting.withdraw(ticket, &self.limits)?;
        self.withdrawn += 1;
        Some((pending, self.idle_wakers()))
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

    /// Passes the right to commit to the first waiting caller, and returns its task to wake. `None`
    /// if no request waits; then nothing changes.
    pub(crate) fn hand_over(&mut self) -> Option<Vec<Waker>> {
        let (_, caller) = self.waiting.iter().next()?;
        Some(caller.call_to_lead().into_iter().collect())
    }

    /// Frees the right to commit. Returns the tasks to wake.
    ///
    /// If requests still wait, the task that commits was dropped. Then every waiting caller is
    /// asked to take the right, because some of them may be futures that are not polled.
    pub(crate) fn release(&mut self) -> Vec<Waker> {
        self.leading = false;
        if self.waiting.is_empty() {
            return self.idle_wakers();
        }
        // The next leader must not yield before it commits. Without a task it commits while its
        // caller polls, and a poll can't yield.
        self.lone_batches = u32::MAX;
        let callers = self.waiting.iter();
        callers
            .filter_map(|(_, caller)| caller.call_to_lead())
            .collect()
    }

    /// Whether one of the last two batches had several callers. The last batch alone is not enough,
    /// because a caller sometimes arrives too late for the batch of the others.
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
        if self.is_idle() {
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

    fn is_idle(&self) -> bool {
        !self.leading && self.waiting.is_empty()
    }

    /// The tasks that wait in `close`, if the queue is idle.
    fn idle_wakers(&mut self) -> Vec<Waker> {
        match self.is_idle() {
            true => std::mem::take(&mut self.until_idle),
            false => Vec::new(),
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
