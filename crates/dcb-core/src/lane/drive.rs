//! What moves a lane on beside its members: the commits, and the limit of a turn.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
#[cfg(feature = "sqlite")]
use std::thread;
use std::time::Instant;

use tokio::runtime::Handle;

use super::{Answer, Lane, Lanes};
use crate::check::check;
use crate::until::until;
use crate::{Append, Appended, Error, EventStore, Fault};

/// Waits for a turn. If another member's turn takes too long meanwhile, ends it.
pub(super) async fn in_turn<T>(lane: &Lane, turn: impl Future<Output = T>) -> T {
    let mut turn = pin!(turn);
    loop {
        let limit = Instant::now() + Lanes::TURN_LIMIT;
        if let Some(turn) = until(limit, turn.as_mut()).await {
            return turn;
        }
        lane.step(|state| state.line.overtake());
    }
}

/// Begins to commit the group, and the groups that are collected meanwhile. The answer goes on with it.
pub(crate) async fn drive<S>(store: &S, lane: &Arc<Lane>, append: Append, answer: Answer) -> Answer
where
    S: EventStore + Clone + 'static,
{
    let commits = Commits(Some(Arc::clone(lane)));
    let commits = Box::pin(commit_all(store.clone(), commits, append));
    let Ok(runtime) = Handle::try_current() else {
        // The member polls the commits to their end.
        commits.await;
        return answer;
    };
    answer.of_leader(lane, commits, runtime)
}

/// [`drive`] for a thread, with a function that commits or checks an append. A thread of their own
/// commits the groups that are collected meanwhile, so that this caller does not work for others.
#[cfg(feature = "sqlite")]
pub(crate) fn drive_blocking(
    lane: &Arc<Lane>,
    append: Append,
    commit: impl Fn(Append) -> Result<Option<Appended>, Error> + Send + 'static,
) {
    let mut lane = Commits(Some(Arc::clone(lane)));
    let Some(next) = lane.settle(commit(append)) else {
        return;
    };
    let rest = move || {
        let mut next = Some(next);
        while let Some(append) = next {
            next = lane.settle(commit(append));
        }
    };
    // If there is no thread, dropping `lane` answers the members.
    let _ = thread::Builder::new().name("dcb lane".into()).spawn(rest);
}

async fn commit_all<S: EventStore>(store: S, mut lane: Commits, append: Append) {
    let mut next = Some(append);
    while let Some(append) = next {
        let result = match append.events.is_empty() {
            true => check(&store, &append.conditions).await.map(|()| None),
            false => store.submit(append).await.map(Some),
        };
        next = lane.settle(result);
    }
}

/// The commits of a lane. `None` once none is under way.
struct Commits(Option<Arc<Lane>>);

impl Commits {
    /// Ends the commit under way. Returns the next append.
    fn settle(&mut self, result: Result<Option<Appended>, Error>) -> Option<Append> {
        let next = self.0.as_ref()?.settle(result);
        if next.is_none() {
            self.0 = None;
        }
        next
    }
}

impl Drop for Commits {
    /// A runtime that shuts down drops a commit under way.
    fn drop(&mut self) {
        let unknown = Error::OutcomeUnknown { ids: Vec::new() };
        let mut next = self.settle(Err(unknown));
        while next.is_some() {
            next = self.settle(Err(Fault::Closed.into()));
        }
    }
}
