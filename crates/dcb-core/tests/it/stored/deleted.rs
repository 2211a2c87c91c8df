//! States that `clear`, `rebuild_keys` and a higher version delete, while tasks fold.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dcb_core::{Event, EventStore, Projector};
use uuid::Uuid;

use super::{EVERY_TENTH, Tables, decide, see, store_state, wait_until_stored};
use crate::backends::on_each_backend;
use crate::support::events::{tag, tagged};
use crate::support::wait::wait_until;

on_each_backend! {
    cleared_log_has_no_state
    task_that_began_before_clear_stores_nothing
    state_without_the_events_that_lacked_keys_is_deleted
    task_that_read_without_keys_stores_nothing
    state_of_a_lower_version_is_deleted
}

const ROWS: &str = "SELECT count(*) || '' FROM @kept_state";
const STATES: &str = "SELECT count(state) || '' FROM @kept_state";

/// Holds the folds of tasks, but not those of decisions.
#[derive(Clone, Default)]
struct Held {
    is_held: Arc<AtomicBool>,
    has_begun: Arc<AtomicBool>,
}

impl Held {
    /// The number of events with the tag `a`.
    fn count(&self) -> Projector<u64> {
        let held = self.clone();
        let count = Projector::new(tag("a"), 0, move |count: &mut u64, _| {
            *count += 1;
            if tokio::task::try_id().is_some() {
                tokio::task::block_in_place(|| held.wait());
            }
        });
        count.keep_stored("count", 1, EVERY_TENTH())
    }

    fn wait(&self) {
        while self.is_held.load(Ordering::Acquire) {
            self.has_begun.store(true, Ordering::Release);
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns once a task folds the events, and waits.
    async fn begin_task<S: EventStore + Clone + 'static>(&self, store: &S) -> u64 {
        self.is_held.store(true, Ordering::Release);
        let count = decide(store, self.count(), Vec::new()).await;
        wait_until("the task folds", async || {
            self.has_begun.load(Ordering::Acquire)
        })
        .await;
        count
    }

    async fn end_task(&self) {
        self.is_held.store(false, Ordering::Release);
        wait_until("the task has ended", async || {
            Arc::strong_count(&self.is_held) == 1
        })
        .await;
    }
}

/// Events with the tag and with ids, so that another log can have the same ones.
fn events(tag: &str) -> Vec<Event> {
    let with_id = |number| tagged(tag).with_id(Uuid::from_u128(number));
    (1..=40).map(with_id).collect()
}

async fn cleared_log_has_no_state<S: Tables>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    store.append(events("a")).await.unwrap();
    see(&store).await;
    wait_until_stored(&store, 1).await;
    store.clear().await.unwrap();
    assert_eq!(S::number(&log, ROWS).await, 0);
    store.close().await;
    // The bookmark has the position and the id of an event of the new log.
    let store = S::connect(&log).await;
    store.append(events("b")).await.unwrap();
    assert_eq!(see(&store).await, []);
    store.close().await;
}

async fn task_that_began_before_clear_stores_nothing<S: Tables>() {
    let log = S::fresh_log().await;
    let (store, held) = (S::connect(&log).await, Held::default());
    store.append(events("a")).await.unwrap();
    assert_eq!(held.begin_task(&store).await, 40);
    store.clear().await.unwrap();
    store.append(events("b")).await.unwrap();
    held.end_task().await;
    assert_eq!(S::number(&log, STATES).await, 0);
    assert_eq!(store.stats().states_stored, 0);
    store.close().await;
    let store = S::connect(&log).await;
    assert_eq!(decide(&store, held.count(), Vec::new()).await, 0);
    store.close().await;
}

/// A log with 60 events that have the tag `a`. Reads by tag miss five of them, because their keys are gone.
async fn without_keys<S: Tables>(log: &S::Log) -> S {
    let store = S::connect(log).await;
    // Single appends, so that SQLite moves keys into the file. It reads a part where most events match
    // without keys.
    for _ in 0..60 {
        for name in ["a", "b", "b", "b", "b"] {
            store.append(tagged(name)).await.unwrap();
        }
    }
    store.close().await;
    let lose = "DELETE FROM @event_tag WHERE position BETWEEN 11 AND 35";
    S::run(log, lose).await;
    S::connect(log).await
}

async fn state_without_the_events_that_lacked_keys_is_deleted<S: Tables>() {
    let log = S::fresh_log().await;
    let store = without_keys::<S>(&log).await;
    assert_eq!(see(&store).await.len(), 55);
    wait_until_stored(&store, 1).await;
    S::rebuild_keys(&log).await;
    assert_eq!(S::number(&log, ROWS).await, 0);
    store.close().await;
    let store = S::connect(&log).await;
    assert_eq!(see(&store).await.len(), 60);
    store.close().await;
}

async fn task_that_read_without_keys_stores_nothing<S: Tables>() {
    let log = S::fresh_log().await;
    let (store, held) = (without_keys::<S>(&log).await, Held::default());
    assert_eq!(held.begin_task(&store).await, 55);
    S::rebuild_keys(&log).await;
    held.end_task().await;
    assert_eq!(S::number(&log, STATES).await, 0);
    store.close().await;
    let store = S::connect(&log).await;
    assert_eq!(decide(&store, held.count(), Vec::new()).await, 60);
    store.close().await;
}

async fn state_of_a_lower_version_is_deleted<S: Tables>() {
    let log = S::fresh_log().await;
    store_state::<S>(&log, 40).await;
    let store = S::connect(&log).await;
    let other =
        |name, version| Projector::counter(tag("a")).keep_stored(name, version, EVERY_TENTH());
    decide(&store, other("others", 2), Vec::new()).await;
    wait_until_stored(&store, 1).await;
    assert_eq!(S::number(&log, ROWS).await, 2);
    decide(&store, other("places", 2), Vec::new()).await;
    wait_until_stored(&store, 2).await;
    let left = "SELECT sum(version) || '' FROM @kept_state";
    assert_eq!(S::number(&log, left).await, 4);
    store.close().await;
}
