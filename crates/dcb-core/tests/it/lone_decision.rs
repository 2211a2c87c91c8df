//! A decision that is alone in its lane polls its own commit. A task goes on with it as soon as another
//! decision waits, or the first is dropped.

use std::pin::pin;

use dcb_core::{Append, Appended, DecisionModel, Error, EventStore, MemoryStore, Projector};
use futures_util::poll;
use tokio::runtime::Handle;
use tokio::task::yield_now;

use crate::support::events::{tag, tagged};

/// A store whose appends need a second poll.
#[derive(Clone)]
struct Slow(MemoryStore);

impl EventStore for Slow {
    async fn submit(&self, append: Append) -> Result<Appended, Error> {
        yield_now().await;
        self.0.submit(append).await
    }

    dcb_core::forward_event_store! { self { Self(store) => store }
        query_stream head count exists tracked commands projection_limit lanes health stats close
    }
}

/// Takes a seat. Returns how many were taken before.
async fn take(store: &Slow) -> u64 {
    let mut seen = 0;
    let decide = |taken| {
        seen = taken;
        Ok::<_, Error>(tagged("seat"))
    };
    let model = DecisionModel::new(Projector::counter(tag("seat")));
    model.decide(store, decide).await.unwrap();
    seen
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

#[tokio::test]
async fn lone_decision_needs_no_task() {
    let store = Slow(MemoryStore::new());
    for taken in 0..3 {
        let mut decision = pin!(take(&store));
        assert!(poll!(&mut decision).is_pending());
        assert_eq!(tasks(), 0);
        assert_eq!(decision.await, taken);
        assert_eq!(tasks(), 0);
    }
}

#[tokio::test]
async fn commit_goes_on_for_the_next_member() {
    let store = Slow(MemoryStore::new());
    let mut held = pin!(take(&store));
    assert!(poll!(&mut held).is_pending());
    assert_eq!(take(&store).await, 1);
    assert_eq!(held.await, 0);
}

#[tokio::test]
async fn commit_of_a_dropped_decision_goes_on() {
    let store = Slow(MemoryStore::new());
    let mut dropped = Box::pin(take(&store));
    assert!(poll!(&mut dropped).is_pending());
    drop(dropped);
    assert_eq!(tasks(), 1);
    assert_eq!(take(&store).await, 1);
}
