//! Subscriptions yield existing events, then new events, each once and in order.

use std::sync::Arc;
use std::time::Duration;

use conformance_suite::{assert_refused, at_once};
use dcb_core::{
    Bookmark, Error, EventStore, Fault, Position, Query, ReadOptions, SequencedEvent,
    SubscribeOptions, Subscription,
};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::CALLERS;
use super::fixture::{at, head, log, many, positions, read, tag, tagged};

/// Longer than any step takes. Only a failing case waits this long.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The next `count` events.
async fn take(subscription: &mut Subscription, count: usize) -> Vec<SequencedEvent> {
    let mut taken = Vec::new();
    while taken.len() < count {
        let next = timeout(TIMEOUT, subscription.next()).await;
        let next = next.unwrap_or_else(|_| panic!("{} of {count} events arrived", taken.len()));
        taken.push(
            next.expect("the subscription goes on")
                .expect("the subscription can read"),
        );
    }
    taken
}

fn small_batches() -> SubscribeOptions {
    // Small, so that even short logs take several batches.
    SubscribeOptions::new().batch_size(3)
}

pub(super) async fn subscription_yields_existing_then_new_events(
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

pub(super) async fn subscription_starts_after_a_position(store: &Arc<impl EventStore + 'static>) {
    store.append(many(5, "a")).await.unwrap();
    for after in 0..5 {
        let after = Position::new(after);
        let bookmark = after.map(Bookmark::from);
        let mut events = store.subscribe(Query::all(), bookmark, small_batches());
        let expected: Vec<u64> = (Position::number_or_zero(after) + 1..=5).collect();
        assert_eq!(
            positions(&take(&mut events, expected.len()).await),
            expected
        );
    }
    let mut events = store.subscribe(Query::all(), at(5), small_batches());
    store.append(tagged(&["a"])).await.unwrap();
    assert_eq!(positions(&take(&mut events, 1).await), [6]);
}

pub(super) async fn subscription_from_head_has_only_new_events(
    store: &Arc<impl EventStore + 'static>,
) {
    for _ in 0..3 {
        let head = store.head().await.unwrap();
        let mut events = store.subscribe(Query::all(), head, SubscribeOptions::new());
        let appended = store.append(tagged(&["a"])).await.unwrap();
        assert_eq!(
            positions(&take(&mut events, 1).await),
            [appended.first().get()]
        );
    }
}

pub(super) async fn subscription_after_beyond_head_ends_with_error(
    store: &Arc<impl EventStore + 'static>,
) {
    store.append(many(2, "a")).await.unwrap();
    let mut events = store.subscribe(tag("a"), at(3), SubscribeOptions::new());
    assert_refused!(
        events.next().await.expect("the subscription returns its error"),
        Error::AfterBeyondHead { after, head } if (*after, *head) == (at(3), Some(at(2)))
    );
    assert!(events.next().await.is_none());
}

pub(super) async fn batches_report_progress(store: &Arc<impl EventStore + 'static>) {
    store.append(many(7, "a")).await.unwrap();
    store.append(many(5, "b")).await.unwrap();
    let mut events = store.subscribe(tag("a"), None, small_batches());
    let progress = events.progress();
    let mut batches = Vec::new();
    while progress.position() != Some(at(12)) {
        let batch = timeout(TIMEOUT, events.next_batch()).await.unwrap();
        let batch = batch.expect("the subscription goes on").unwrap();
        batches.push((positions(&batch.events), batch.through.position.get()));
        assert_eq!(progress.position(), Some(batch.through.position));
    }
    assert_eq!(
        batches,
        [(vec![1, 2, 3], 3), (vec![4, 5, 6], 6), (vec![7], 12)]
    );
    assert_eq!((progress.head(), progress.lag()), (Some(at(12)), 0));
}

pub(super) async fn next_batch_returns_rest_of_started_batch(
    store: &Arc<impl EventStore + 'static>,
) {
    store.append(many(4, "a")).await.unwrap();
    let mut events = store.subscribe(tag("a"), None, SubscribeOptions::new());
    let progress = events.progress();
    assert_eq!(positions(&take(&mut events, 1).await), [1]);
    assert_eq!((progress.position(), progress.lag()), (Some(at(1)), 3));
    let rest = events
        .next_batch()
        .await
        .expect("the subscription goes on")
        .unwrap();
    assert_eq!(
        (positions(&rest.events), rest.through.position),
        (vec![2, 3, 4], at(4))
    );
    assert_eq!(progress.lag(), 0);
}

pub(super) async fn dropped_next_loses_no_event(store: &Arc<impl EventStore + 'static>) {
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
    let give_up = Instant::now() + TIMEOUT;
    while seen.len() < 100 {
        assert!(
            Instant::now() < give_up,
            "{} of 100 events arrived",
            seen.len()
        );
        // Many reads take longer than this. The next call continues the read.
        let wait = timeout(Duration::from_micros(50), events.next()).await;
        if let Ok(next) = wait {
            seen.push(next.expect("the subscription goes on").unwrap());
        }
    }
    writer.await.unwrap();
    assert_eq!(seen, log(store).await);
}

/// The events before the one with the tag `end`.
async fn take_until_end(subscription: &mut Subscription) -> Vec<SequencedEvent> {
    let mut taken = Vec::new();
    loop {
        let event = take(subscription, 1).await.remove(0);
        if event.has_tag("end") {
            return taken;
        }
        taken.push(event);
    }
}

/// The subscribers read up to an `end` event instead of counting, so a store that loses an event
/// fails at once and not only after a timeout.
pub(super) async fn subscribers_under_load_get_each_event_once(
    store: &Arc<impl EventStore + 'static>,
) {
    const APPENDS: usize = 5;
    for callers in CALLERS {
        let before = Position::new(head(store).await).map(Bookmark::from);
        let appends = callers * APPENDS;
        let queries = [(Query::all(), 2 * appends), (tag("a"), appends)];
        let subscribers = queries.clone().map(|(query, _)| {
            let mut events = store.subscribe(query.or(tag("end")), before, small_batches());
            tokio::spawn(async move { take_until_end(&mut events).await })
        });
        at_once(store, callers, |store, _| async move {
            for _ in 0..APPENDS {
                store.append(tagged(&["a"])).await.unwrap();
                store.append(tagged(&["b"])).await.unwrap();
            }
        })
        .await;
        let past = ReadOptions::new().after(before);
        let end = store.append(tagged(&["end"])).await.unwrap().first();
        // A store that loses events may lose the `end` event too. Append more of them until both
        // subscribers have seen one.
        while !subscribers.iter().all(JoinHandle::is_finished) {
            sleep(Duration::from_millis(5)).await;
            store.append(tagged(&["end"])).await.unwrap();
        }
        for ((query, count), subscriber) in queries.into_iter().zip(subscribers) {
            let mut expected = store.query(&query, past).await.unwrap().events;
            expected.retain(|event| event.position() < end);
            assert_eq!(expected.len(), count, "{query:?}");
            assert_eq!(subscriber.await.unwrap(), expected, "{query:?}");
        }
    }
}

pub(super) async fn wait_for_returns_once_position_is_reached(
    store: &Arc<impl EventStore + 'static>,
) {
    store.append(many(2, "a")).await.unwrap();
    for position in 1..=2 {
        assert_eq!(store.wait_for(at(position), TIMEOUT).await.unwrap(), at(2));
    }
    let waiting = {
        let store = Arc::clone(store);
        tokio::spawn(async move { store.wait_for(at(4), TIMEOUT).await })
    };
    for _ in 3..=4 {
        store.append(tagged(&["a"])).await.unwrap();
    }
    assert_eq!(waiting.await.unwrap().unwrap(), at(4));
    let limit = Duration::from_millis(20);
    assert_refused!(
        store.wait_for(at(5), limit).await,
        Error::Fault(Fault::TimedOut {
            operation: "wait",
            ..
        })
    );
}
