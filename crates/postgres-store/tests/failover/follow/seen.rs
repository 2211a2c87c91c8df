use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::sql::PATIENCE;

/// The items that a follower has got so far, in order.
pub(super) struct Seen<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Seen<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Seen<T> {
    pub(super) fn push(&self, one: T) {
        self.lock().push(one);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a follower ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Some of its items may be lost. It knows, and can begin again.
    PastIsLost,
    By(String),
}

impl From<dcb_core::Error> for Ended {
    fn from(error: dcb_core::Error) -> Self {
        use dcb_core::Error::{AfterBeyondHead, PastReplaced};
        match error {
            AfterBeyondHead { .. } | PastReplaced { .. } => Self::PastIsLost,
            error => Self::By(error.to_string()),
        }
    }
}

impl From<message_store::Error> for Ended {
    fn from(error: message_store::Error) -> Self {
        use message_store::Error::{AfterBeyondHead, PastReplaced};
        match error {
            AfterBeyondHead { .. } | PastReplaced { .. } => Self::PastIsLost,
            error => Self::By(error.to_string()),
        }
    }
}

/// A task that follows a store. It ends only with an error.
pub(super) struct Follower<T> {
    name: &'static str,
    seen: Seen<T>,
    task: JoinHandle<Ended>,
}

impl<T: Debug + PartialEq + Send + 'static> Follower<T> {
    pub(super) fn start<F>(name: &'static str, follow: impl FnOnce(Seen<T>) -> F) -> Self
    where
        F: Future<Output = Ended> + Send + 'static,
    {
        let seen = Seen(Arc::default());
        let task = tokio::spawn(follow(seen.clone()));
        Self { name, seen, task }
    }

    /// Waits until the follower has got as much as expected, and asserts that it is the same. If events
    /// may be lost, the follower may have been told so instead.
    pub(super) async fn check(mut self, expected: &[T], may_lose: bool) {
        let (name, give_up) = (self.name, Instant::now() + PATIENCE);
        while self.seen.lock().len() < expected.len() && Instant::now() < give_up {
            if self.task.is_finished() {
                let ended = (&mut self.task).await.expect("no follower panics");
                assert!(may_lose && ended == Ended::PastIsLost, "{name}: {ended:?}");
                println!("{name} was told that its past is lost");
                return;
            }
            sleep(Duration::from_millis(5)).await;
        }
        self.task.abort();
        let seen = self.seen.lock();
        let differs = seen
            .iter()
            .zip(expected)
            .position(|(one, other)| one != other);
        if let Some(at) = differs {
            panic!(
                "{name} got {:?} instead of {:?} at {at}",
                seen[at], expected[at]
            );
        }
        assert_eq!(seen.len(), expected.len(), "{name}");
    }
}
