//! A queue of requests that wait for a resource, such as a connection. The request at the front is
//! the leader: its caller acquires the resource, and serves the requests behind it as well. No I/O.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Waiting requests of type `R`, each to be answered with an `A`.
pub(super) struct WaitQueue<R, A>(Mutex<State<R, A>>);

struct State<R, A> {
    /// In order of arrival. The front is the leader, although its caller may not know it yet.
    waiting: VecDeque<Waiting<R, A>>,
    /// Counts up for ever, so `waiting` stays sorted by number when callers leave.
    next_number: u64,
}

struct Waiting<R, A> {
    number: u64,
    request: R,
    /// `None` if the request leads: it arrived first, or was promoted to leader.
    caller: Option<oneshot::Sender<Role<A>>>,
}

/// The part that a waiting request plays in the end.
pub(super) enum Role<A> {
    /// The request is at the front: acquire the resource, then
    /// [take a batch](Ticket::take_batch).
    Leader,
    /// Another leader served the request.
    Served(A),
}

/// A request that a leader has removed from the queue.
pub(super) struct Claimed<R, A> {
    pub(super) request: R,
    /// `None` for the leader's request.
    caller: Option<oneshot::Sender<Role<A>>>,
}

impl<R, A> Claimed<R, A> {
    /// Sends the answer to the caller. Returns the answer if the request is the leader's.
    pub(super) fn answer(self, answer: A) -> Option<A> {
        match self.caller {
            None => Some(answer),
            Some(caller) => {
                // Sending fails only if the caller has given up, and then it needs no answer.
                let _ = caller.send(Role::Served(answer));
                None
            }
        }
    }
}

impl<R, A> WaitQueue<R, A> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(State {
            waiting: VecDeque::new(),
            next_number: 0,
        }))
    }

    pub(super) fn join(&self, request: R) -> Ticket<'_, R, A> {
        let mut state = self.lock();
        let number = state.next_number;
        state.next_number += 1;
        // The first to arrive leads at once and needs no channel.
        let (caller, role) = if state.waiting.is_empty() {
            (None, None)
        } else {
            let (caller, role) = oneshot::channel();
            (Some(caller), Some(role))
        };
        state.waiting.push_back(Waiting {
            number,
            request,
            caller,
        });
        Ticket {
            queue: self,
            number,
            role,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<R, A>> {
        // No code between lock and unlock can panic half-way through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R, A> State<R, A> {
    /// Makes the front the leader. Returns the channel to its caller, unless the caller has been
    /// notified already.
    fn promote(&mut self) -> Option<oneshot::Sender<Role<A>>> {
        self.waiting.front_mut()?.caller.take()
    }
}

/// A request's place in the queue. Dropping the ticket removes the request from the queue. If the
/// request was the leader, the next request becomes the leader.
pub(super) struct Ticket<'q, R, A> {
    queue: &'q WaitQueue<R, A>,
    number: u64,
    /// `None` if the queue was empty on arrival.
    role: Option<oneshot::Receiver<Role<A>>>,
}

impl<R, A> Ticket<'_, R, A> {
    /// Waits until the request leads or is served. `None` if the leader that claimed the request
    /// dropped it without an answer.
    pub(super) async fn role(&mut self) -> Option<Role<A>> {
        match &mut self.role {
            None => Some(Role::Leader),
            Some(role) => role.await.ok(),
        }
    }

    /// Removes the leader's request, which is the first, and those behind it: at most `max` in all.
    /// The next request leads from now on, while this leader still works on its batch.
    pub(super) fn take_batch(self, max: usize) -> Vec<Claimed<R, A>> {
        let mut state = self.queue.lock();
        let count = state.waiting.len().min(max);
        let claimed = state.waiting.drain(..count);
        let claimed = claimed
            .map(|waiting| Claimed {
                request: waiting.request,
                caller: waiting.caller,
            })
            .collect();
        let next = state.promote();
        drop(state);
        notify_leader(next);
        claimed
    }
}

impl<R, A> Drop for Ticket<'_, R, A> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        let index = state
            .waiting
            .binary_search_by_key(&self.number, |waiting| waiting.number);
        // Not found: a leader has claimed the request.
        if let Ok(index) = index {
            let left = state.waiting.remove(index);
            let next = state.promote();
            // Wake the next leader, and drop the caller's request, outside of the lock.
            drop(state);
            notify_leader(next);
            drop(left);
        }
    }
}

fn notify_leader<A>(next: Option<oneshot::Sender<Role<A>>>) {
    if let Some(next) = next {
        // Sending fails only if that caller is leaving: its `drop` finds it at the front and
        // promotes the next one.
        let _ = next.send(Role::Leader);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type TestQueue = WaitQueue<&'static str, usize>;

    /// The role of the ticket so far; `None` while it waits.
    fn role_now(ticket: &mut Ticket<'_, &'static str, usize>) -> Option<Option<Role<usize>>> {
        match pin!(ticket.role()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(role) => Some(role),
            Poll::Pending => None,
        }
    }

    fn leads(ticket: &mut Ticket<'_, &'static str, usize>) -> bool {
        matches!(role_now(ticket), Some(Some(Role::Leader)))
    }

    fn waits(ticket: &mut Ticket<'_, &'static str, usize>) -> bool {
        role_now(ticket).is_none()
    }

    fn requests(claimed: &[Claimed<&'static str, usize>]) -> Vec<&'static str> {
        claimed.iter().map(|claimed| claimed.request).collect()
    }

    #[test]
    fn leader_serves_requests_behind_it() {
        let queue = TestQueue::new();
        let mut tickets = ["a", "b", "c", "d"].map(|request| queue.join(request));
        assert!(leads(&mut tickets[0]));
        assert!(tickets[1..].iter_mut().all(waits));
        let [a, mut b, mut c, mut d] = tickets;
        let claimed = a.take_batch(3);
        assert_eq!(requests(&claimed), ["a", "b", "c"]);
        assert!(leads(&mut d), "the next leads at once");
        let mut leaders_answer = Vec::new();
        for (index, claimed) in claimed.into_iter().enumerate() {
            leaders_answer.extend(claimed.answer(index));
        }
        assert_eq!(leaders_answer, [0]);
        assert!(matches!(role_now(&mut b), Some(Some(Role::Served(1)))));
        assert!(matches!(role_now(&mut c), Some(Some(Role::Served(2)))));
        assert_eq!(requests(&d.take_batch(3)), ["d"]);
        assert!(leads(&mut queue.join("e")), "an empty queue has no leader");
    }

    #[test]
    fn leader_that_leaves_passes_lead_to_next() {
        let queue = TestQueue::new();
        let [a, b, mut c, mut d] = ["a", "b", "c", "d"].map(|request| queue.join(request));
        drop(b);
        assert!(waits(&mut c));
        drop(a);
        assert!(leads(&mut c));
        drop(c);
        assert!(leads(&mut d));
        assert_eq!(requests(&d.take_batch(9)), ["d"]);
    }

    #[test]
    fn promoted_leader_dropped_before_poll_passes_lead_to_next() {
        let queue = TestQueue::new();
        let [a, b, mut c] = ["a", "b", "c"].map(|request| queue.join(request));
        let claimed = a.take_batch(1);
        // Promoted, but never polled.
        drop(b);
        assert!(leads(&mut c));
        drop(claimed);
    }

    #[test]
    fn claimed_request_without_answer_ends_its_wait() {
        let queue = TestQueue::new();
        let [a, mut b, c] = ["a", "b", "c"].map(|request| queue.join(request));
        let claimed = a.take_batch(9);
        // Dropping a claimed ticket promotes no one.
        drop(c);
        drop(claimed);
        assert!(matches!(role_now(&mut b), Some(None)));
        assert!(leads(&mut queue.join("d")));
    }
}
