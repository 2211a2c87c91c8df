//! Replicas for reads.
//!
//! A task per replica asks it twice a second how far it is, over a connection that serves nothing else.
//! Reads use the replicas in turn, except those that do not answer and those that are too far behind
//! the primary.
//!
//! Progress is a number that grows with the writes and that the store chooses. A replica lags by the
//! time since the primary had the progress that the replica lacks. So an idle primary makes no replica
//! lag, and the clocks of the servers do not matter.

mod history;
mod watch;

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::SqlStr;
use tokio::sync::watch as channel;

use self::history::History;
use crate::hosts::Hosts;
use crate::pool::Pool;

/// The replicas of a server. Cheap to clone; clones share the replicas.
#[derive(Clone)]
pub struct Replicas<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    each: Vec<Arc<Replica<T>>>,
    /// The number of choices.
    choices: AtomicUsize,
    /// The progress that a replica needs to be used.
    required: AtomicU64,
    primary: Mutex<History>,
}

/// A replica.
pub struct Replica<T> {
    readers: T,
    pool: Pool,
    hosts: Hosts,
    state: channel::Sender<State>,
    progress: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not asked yet.
    Unknown,
    InUse,
    /// It answers, but lags too far behind, or lacks the store's tables.
    Behind,
    /// It does not answer.
    Gone,
}

/// How replicas are watched.
pub struct Watching {
    /// The primary.
    pub primary: Hosts,
    /// The statement that asks the primary for its progress, a bigint.
    pub primary_progress: SqlStr,
    /// The statement that asks a replica. NULL means that it lacks nothing.
    pub replica_progress: SqlStr,
    /// The longest time that a replica may lag.
    pub max_lag: Duration,
}

impl<T: Send + Sync + 'static> Replicas<T> {
    /// Begins to watch replicas, and waits until each has been asked once, at most a second or so.
    /// Each is given with its hosts, and with the pool whose connections go when the replica goes.
    ///
    /// # Panics
    /// Outside a tokio runtime, if there are replicas.
    pub async fn watch(each: Vec<(Hosts, Pool, T)>, watching: Watching) -> Self {
        let replica = |(hosts, pool, readers)| {
            Arc::new(Replica {
                readers,
                pool,
                hosts,
                state: channel::Sender::new(State::Unknown),
                progress: AtomicU64::new(0),
            })
        };
        let replicas = Self {
            shared: Arc::new(Shared {
                each: each.into_iter().map(replica).collect(),
                choices: AtomicUsize::new(0),
                required: AtomicU64::new(0),
                primary: Mutex::new(History::new(watching.max_lag)),
            }),
        };
        if !replicas.shared.each.is_empty() {
            watch::start(&replicas.shared, watching).await;
        }
        replicas
    }

    /// The replica for the next read. `None` if there is none to use; read from the primary then.
    pub fn choose(&self) -> Option<&Arc<Replica<T>>> {
        let each = &self.shared.each;
        if each.is_empty() {
            return None;
        }
        let choice = self.shared.choices.fetch_add(1, Ordering::Relaxed);
        let required = self.shared.required.load(Ordering::Acquire);
        let mut from_choice =
            (0..each.len()).map(|next| &each[choice.wrapping_add(next) % each.len()]);
        from_choice.find(|replica| replica.is_in_use() && replica.progress() >= required)
    }

    /// All replicas, in use or not.
    pub fn each(&self) -> &[Arc<Replica<T>>] {
        &self.shared.each
    }

    /// Whether there are no replicas.
    pub fn are_none(&self) -> bool {
        self.shared.each.is_empty()
    }

    /// From now on, does not choose a replica that was not seen at this progress.
    pub fn require(&self, progress: u64) {
        self.shared.required.fetch_max(progress, Ordering::AcqRel);
    }

    /// Forgets what [`Replicas::require`] demanded, because progress has begun again.
    pub fn restart(&self) {
        self.shared.required.store(0, Ordering::Release);
    }
}

impl<T> Replica<T> {
    /// The readers of this replica.
    pub fn readers(&self) -> &T {
        &self.readers
    }

    /// Whether reads may use the replica: it answers, and does not lag too far behind.
    pub fn is_in_use(&self) -> bool {
        *self.state.borrow() == State::InUse
    }

    /// Notes the progress that an answer of the replica shows.
    pub fn note_progress(&self, progress: u64) {
        // Not `fetch_max`: an emptied store has less progress than before.
        self.progress.store(progress, Ordering::Release);
    }

    /// The progress that was noted last.
    pub fn progress(&self) -> u64 {
        self.progress.load(Ordering::Acquire)
    }

    /// Waits for an answer of the replica. `None` once the replica does not answer any more.
    pub async fn answer<O>(&self, read: impl Future<Output = O>) -> Option<O> {
        let mut state = self.state.subscribe();
        let mut gone = pin!(state.wait_for(|state| *state == State::Gone));
        let mut read = pin!(read);
        poll_fn(|cx| match read.as_mut().poll(cx) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending => gone.as_mut().poll(cx).map(|_| None),
        })
        .await
    }

    /// Notes that the replica does not answer, until it answers the watch.
    pub fn give_up(&self) {
        self.set(State::Gone);
    }

    fn set(&self, new: State) {
        let has_changed = self.state.send_if_modified(|state| {
            let has_changed = *state != new;
            *state = new;
            has_changed
        });
        if has_changed && new == State::Gone {
            self.pool.retire();
        }
    }
}

impl<T> fmt::Debug for Replicas<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.shared.each).finish()
    }
}

impl<T> fmt::Debug for Replica<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica")
            .field("hosts", &self.hosts)
            .field("state", &*self.state.borrow())
            .finish_non_exhaustive()
    }
}
