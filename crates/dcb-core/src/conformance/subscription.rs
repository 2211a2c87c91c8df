//! Subscriptions: what is there, then what comes, each event once and in order.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::CALLERS;
use super::callers::at_once;
use super::fixture::{assert_refused, at, head, log, many, positions, read, tag, tagged};
use crate::{
    Error, EventStore, Position, Query, ReadOptions, SequencedEvent, SubscribeOptions, Subscription,
};

/// Longer than anything takes; a case waits that long only to fail.
const PATIENCE: Duration = Duration::from_secs(10);

/// The next so many events.
async fn take(subscription: &mut Subscription, count: usize) -> Vec<SequencedEvent> {
    let mut taken = Vec::new();
    while taken.len() < count {
        let next = timeout(PATIENCE, subscription.next()).await;
        let next = next.unwrap_or_else(|_| panic!("{} of {count} events came", taken.len()));
        taken.push(next.expect("it goes on").expect("it can read"));
    }
    taken
}

fn small_batches() -> SubscribeOptions {
    SubscribeOptions::new().batch_size(3)
}

pub(super) async fn it_yields_what_is_there_then_what_comes(
    store: &Arc<impl EventStore + 'static>,
) {
    store.append(many(4, "a")).await.unwrap();
    store.append(tagged(&["b"])).await.unwrap();
    let mut events = store.subscribe(tag("a"), None, SubscribeOptions::new());
    let mut seen = take(&mut events, 4).await;
    for count in 1..=3 {
        store.append(tagged(&["b"])).await.unwrap();
        store.append(many(count, "a")).await.unwrap();
        seen.extend(take(&mut events, count).await);
    }
    assert_eq!(seen, read(store, &tag("a")).await);
}

pub(super) async fn it_begins_after_a_position(store: &Arc<impl EventStore + 'static>) {
    store.append(many(5, "a")).await.unwrap();
    for after in 0..5 {
        let after = Position::new(after);
        let mut events = store.subscribe(Query::all(), after, small_batches());
        let expected: Vec<u64> = (Position::number_or_zero(after) + 1..=5).collect();
        assert_eq!(
            positions(&take(&mut events, expected.len()).await),
            expected
        );
    }
    let mut events = store.subscribe(Query::all(), Some(at(5)), small_batches());
    store.append(tagged(&["a"])).await.unwrap();
    assert_eq!(positions(&take(&mut events, 1).await), [6]);
}

pub(super) async fn a_shortened_log_ends_it(store: &Arc<impl EventStore + 'static>) {
    store.append(many(2, "a")).await.unwrap();
    let mut events = store.subscribe(tag("a"), Some(at(3)), SubscribeOptions::new());
    assert_refused!(
        events.next().await.expect("it says why it ends"),
        Error::AfterBeyondHead { after, head } if (*after, *head) == (at(3), Some(at(2)))
    );
    assert!(events.next().await.is_none());
}

pub(super) async fn batches_tell_how_far_the_log_was_read(store: &Arc<impl EventStore + 'static>) {
    store.append(many(7, "a")).await.unwrap();
    store.append(many(5, "b")).await.unwrap();
    let mut events = store.subscribe(tag("a"), None, small_batches());
    let progress = events.progress();
    let mut told = Vec::new();
    while progress.position() != Some(at(12)) {
        let batch = timeout(PATIENCE, events.next_batch()).await.unwrap();
        let batch = batch.expect("it goes on").unwrap();
        told.push((positions(&batch.events), batch.through.get()));
        assert_eq!(progress.position(), Some(batch.through));
    }
    assert_eq!(
        told,
        [(vec![1, 2, 3], 3), (vec![4, 5, 6], 6), (vec![7], 12)]
    );
    assert_eq!((progress.head(), progress.lag()), (Some(at(12)), 0));
}

pub(super) async fn the_rest_of_a_batch_is_a_batch(store: &Arc<impl EventStore + 'static>) {
    store.append(many(4, "a")).await.unwrap();
    let mut events = store.subscribe(tag("a"), None, SubscribeOptions::new());
    let progress = events.progress();
    assert_eq!(positions(&take(&mut events, 1).await), [1]);
    assert_eq!((progress.position(), progress.lag()), (Some(at(1)), 3));
    let rest = events.next_batch().await.expect("it goes on").unwrap();
    assert_eq!(
        (positions(&rest.events), rest.through),
        (vec![2, 3, 4], at(4))
    );
    assert_eq!(progress.lag(), 0);
}

pub(super) async fn a_dropped_wait_loses_nothing(store: &Arc<impl EventStore + 'static>) {
    let writer = {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            for _ in 0..50 {
                store.append(many(2, "a")).await.unwrap();
            }
        })
    };
    let mut events = store.subscribe(tag("a"), None, small_batches());
    let mut seen = Vec::new();
    let give_up = Instant::now() + PATIENCE;
    while seen.len() < 100 {
        assert!(
            Instant::now() < give_up,
            "{} of 100 events came",
            seen.len()
        );
        // Too short for many a read: the read goes on in the next wait.
        let wait = timeout(Duration::from_micros(50), events.next()).await;
        if let Ok(next) = wait {
            seen.push(next.expect("it goes on").unwrap());
        }
    }
    writer.await.unwrap();
    assert_eq!(seen, log(store).await);
}

pub(super) async fn every_subscriber_gets_every_event_once_under_load(
    store: &Arc<impl EventStore + 'static>,
) {
    const APPENDS: usize = 5;
    for callers in CALLERS {
        let before = Position::new(head(store).await);
        let appends = callers * APPENDS;
        let queries = [(Query::all(), 2 * appends), (tag("a"), appends)];
        let subscribers = queries.clone().map(|(query, count)| {
            let mut events = store.subscribe(query, before, small_batches());
            tokio::spawn(async move { take(&mut events, count).await })
        });
        at_once(store, callers, |store, _| async move {
            for _ in 0..APPENDS {
                store.append(tagged(&["a"])).await.unwrap();
                store.append(tagged(&["b"])).await.unwrap();
            }
        })
        .await;
        for ((query, _), subscriber) in queries.into_iter().zip(subscribers) {
            let past = ReadOptions::new().after(before);
            let expected = store.query(&query, past).await.unwrap().events;
            assert_eq!(subscriber.await.unwrap(), expected, "{query:?}");
        }
    }
}

pub(super) async fn a_wait_ends_when_the_position_is_there(store: &Arc<impl EventStore + 'static>) {
    store.append(many(2, "a")).await.unwrap();
    for position in 1..=2 {
        assert_eq!(store.wait_for(at(position), PATIENCE).await.unwrap(), at(2));
    }
    let waiting = {
        let store = Arc::clone(store);
        tokio::spawn(async move { store.wait_for(at(4), PATIENCE).await })
    };
    for _ in 3..=4 {
        store.append(tagged(&["a"])).await.unwrap();
    }
    assert_eq!(waiting.await.unwrap().unwrap(), at(4));
    let limit = Duration::from_millis(20);
    assert_refused!(
        store.wait_for(at(5), limit).await,
        Error::Timeout {
            operation: "wait",
            ..
        }
    );
}
