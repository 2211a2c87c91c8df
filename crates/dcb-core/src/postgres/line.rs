//! Who waits, in order of arrival. Who is at the front gets what all wait for, and takes those
//! behind along. No I/O.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Requests that wait.
pub(super) struct Line<R, A>(Mutex<State<R, A>>);

struct State<R, A> {
    /// Who is at the front has been told to lead, or is about to be.
    waiting: VecDeque<Waiting<R, A>>,
    /// How many have come.
    arrivals: u64,
}

struct Waiting<R, A> {
    ticket: u64,
    request: R,
    /// `None` of the one at the front.
    caller: Option<oneshot::Sender<Turn<A>>>,
}

/// What a place in the line leads to.
pub(super) enum Turn<A> {
    /// Get what all wait for, and [take](Place::take) the next along.
    Lead,
    /// Somebody who led took the request along.
    Answered(A),
}

/// A request that was taken out of the line.
pub(super) struct Taken<R, A> {
    pub(super) request: R,
    /// Where its answer goes; `None` of the request of the one who took it.
    caller: Option<oneshot::Sender<Turn<A>>>,
}

impl<R, A> Taken<R, A> {
    /// Gives the caller the answer; gives it back where it is the leader's own.
    pub(super) fn answer(self, answer: A) -> Option<A> {
        match self.caller {
            None => Some(answer),
            // Who is gone needs none.
            Some(caller) => {
                let _ = caller.send(Turn::Answered(answer));
                None
            }
        }
    }
}

impl<R, A> Line<R, A> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(State {
            waiting: VecDeque::new(),
            arrivals: 0,
        }))
    }

    pub(super) fn join(&self, request: R) -> Place<'_, R, A> {
        let mut state = self.lock();
        let ticket = state.arrivals;
        state.arrivals += 1;
        let (caller, news) = if state.waiting.is_empty() {
            (None, None)
        } else {
            let (caller, news) = oneshot::channel();
            (Some(caller), Some(news))
        };
        state.waiting.push_back(Waiting {
            ticket,
            request,
            caller,
        });
        Place {
            line: self,
            ticket,
            news,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<R, A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R, A> State<R, A> {
    /// Whom to tell that he is at the front now.
    fn promote(&mut self) -> Option<oneshot::Sender<Turn<A>>> {
        self.waiting.front_mut()?.caller.take()
    }
}

/// A place in the line. Who drops it leaves the line; a leader passes the lead on.
pub(super) struct Place<'l, R, A> {
    line: &'l Line<R, A>,
    ticket: u64,
    /// `None` of one who came to an empty line.
    news: Option<oneshot::Receiver<Turn<A>>>,
}

impl<R, A> Place<'_, R, A> {
    /// Waits. `None` where the one who took the request along has no answer.
    pub(super) async fn turn(&mut self) -> Option<Turn<A>> {
        match &mut self.news {
            None => Some(Turn::Lead),
            Some(news) => news.await.ok(),
        }
    }

    /// Takes the leader's own request, which is the first, and those behind it, `most` in all. The
    /// next leads.
    pub(super) fn take(self, most: usize) -> Vec<Taken<R, A>> {
        let mut state = self.line.lock();
        let count = state.waiting.len().min(most);
        let taken = state.waiting.drain(..count);
        let taken = taken
            .map(|waiting| Taken {
                request: waiting.request,
                caller: waiting.caller,
            })
            .collect();
        let next = state.promote();
        drop(state);
        lead(next);
        taken
    }
}

impl<R, A> Drop for Place<'_, R, A> {
    fn drop(&mut self) {
        let mut state = self.line.lock();
        let own = state
            .waiting
            .binary_search_by_key(&self.ticket, |waiting| waiting.ticket);
        if let Ok(own) = own {
            let left = state.waiting.remove(own);
            let next = state.promote();
            drop(state);
            lead(next);
            drop(left);
        }
    }
}

fn lead<A>(next: Option<oneshot::Sender<Turn<A>>>) {
    if let Some(next) = next {
        // One who leaves just now finds himself at the front, and passes the lead on.
        let _ = next.send(Turn::Lead);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Asked = Line<&'static str, usize>;

    /// What the place has led to by now.
    fn now(place: &mut Place<'_, &'static str, usize>) -> Option<Option<Turn<usize>>> {
        match pin!(place.turn()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    fn leads(place: &mut Place<'_, &'static str, usize>) -> bool {
        matches!(now(place), Some(Some(Turn::Lead)))
    }

    fn waits(place: &mut Place<'_, &'static str, usize>) -> bool {
        now(place).is_none()
    }

    fn requests(taken: &[Taken<&'static str, usize>]) -> Vec<&'static str> {
        taken.iter().map(|taken| taken.request).collect()
    }

    #[test]
    fn the_first_takes_the_others_along_and_each_gets_its_answer() {
        let line = Asked::new();
        let mut places = ["a", "b", "c", "d"].map(|request| line.join(request));
        assert!(leads(&mut places[0]));
        assert!(places[1..].iter_mut().all(waits));
        let [a, mut b, mut c, mut d] = places;
        let taken = a.take(3);
        assert_eq!(requests(&taken), ["a", "b", "c"]);
        assert!(leads(&mut d), "the next leads at once");
        let mut own = Vec::new();
        for (index, taken) in taken.into_iter().enumerate() {
            own.extend(taken.answer(index));
        }
        assert_eq!(own, [0]);
        assert!(matches!(now(&mut b), Some(Some(Turn::Answered(1)))));
        assert!(matches!(now(&mut c), Some(Some(Turn::Answered(2)))));
        assert_eq!(requests(&d.take(3)), ["d"]);
        assert!(leads(&mut line.join("e")), "an empty line has no leader");
    }

    #[test]
    fn who_leaves_passes_the_lead_on() {
        let line = Asked::new();
        let [a, b, mut c, mut d] = ["a", "b", "c", "d"].map(|request| line.join(request));
        drop(b);
        assert!(waits(&mut c));
        drop(a);
        assert!(leads(&mut c));
        drop(c);
        assert!(leads(&mut d));
        assert_eq!(requests(&d.take(9)), ["d"]);
    }

    #[test]
    fn who_was_told_to_lead_and_leaves_unheard_passes_the_lead_on() {
        let line = Asked::new();
        let [a, b, mut c] = ["a", "b", "c"].map(|request| line.join(request));
        let taken = a.take(1);
        // It was told, and never asked.
        drop(b);
        assert!(leads(&mut c));
        drop(taken);
    }

    #[test]
    fn who_was_taken_along_learns_that_there_is_no_answer() {
        let line = Asked::new();
        let [a, mut b, c] = ["a", "b", "c"].map(|request| line.join(request));
        let taken = a.take(9);
        // One who was taken and leaves is missed by nobody.
        drop(c);
        drop(taken);
        assert!(matches!(now(&mut b), Some(None)));
        assert!(leads(&mut line.join("d")));
    }
}
