//! Requests that share a commit.
//!
//! The test holds the log's lock. The first append waits for the lock, and appends that arrive
//! meanwhile form the next batch.

use std::time::Duration;

use dcb_core::{Append, Appended, Error, Tracking};

use super::on_each_backend;
use crate::support::backend::{SharedStore, begin};
use crate::support::events::{event, head, positions, read, tag, tagged, unless, whole_log};
use crate::support::wait::wait_for_queued;

on_each_backend! {
    first_request_of_a_batch_wins_a_condition
    deferred_request_succeeds_if_the_earlier_one_is_refused
    deferred_request_gets_the_first_conflict
    repeated_ids_within_a_batch_are_recognized
    failing_request_of_a_batch_fails_alone
    refused_request_of_a_batch_tracks_nothing
}

type Answer = Result<Appended, Error>;

/// A log whose append timeout is long enough to build a large batch.
pub(crate) async fn log_with_long_timeout<S: SharedStore>() -> S::Log {
    let mut log = S::fresh_log().await;
    S::set_write_timeout(&mut log, Duration::from_secs(60));
    log
}

/// The answers to appends that run in one batch, in this order.
async fn in_one_batch<S: SharedStore>(
    store: &S,
    log: &S::Log,
    appends: impl IntoIterator<Item = Append>,
) -> Vec<Answer> {
    let lock = S::lock(log).await;
    let ahead = begin(store, Append::new(tagged("ahead of the batch"))).await;
    // Wait until the writer has taken the first append, which otherwise could join the batch.
    wait_for_queued(store, 0).await;
    let mut tasks = Vec::new();
    for append in appends {
        tasks.push(begin(store, append).await);
    }
    wait_for_queued(store, tasks.len()).await;
    S::unlock(lock).await;
    ahead.await.unwrap().unwrap();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    answers
}

fn first(answer: &Answer) -> u64 {
    answer.as_ref().unwrap().first().get()
}

async fn first_request_of_a_batch_wins_a_condition<S: SharedStore>() {
    let log = log_with_long_timeout::<S>().await;
    let store = S::connect(&log).await;
    let seat = || Append::new(tagged("seat")).condition(unless("seat"));
    let answers = in_one_batch::<S>(&store, &log, (0..100).map(|_| seat())).await;
    let winner = first(&answers[0]);
    for loser in &answers[1..] {
        assert!(
            matches!(loser, Err(Error::Conflict { position, .. }) if position.get() == winner),
            "{loser:?}"
        );
    }
    assert_eq!(positions(&read(&store, &tag("seat")).await), [winner]);
    let stats = store.stats();
    assert_eq!((stats.commits, stats.largest_batch), (2, 100));
    assert_eq!(stats.conflicts, 99);
    store.close().await;
}

/// The second request conflicts with the first one, but the first one is refused by the log.
async fn deferred_request_succeeds_if_the_earlier_one_is_refused<S: SharedStore>() {
    let log = log_with_long_timeout::<S>().await;
    let store = S::connect(&log).await;
    store.append(tagged("taken")).await.unwrap();
    let refused = Append::new(tagged("seat")).condition(unless("taken"));
    let deferred = Append::new(tagged("seat")).condition(unless("seat"));
    let answers = in_one_batch::<S>(&store, &log, [refused, deferred]).await;
    assert!(matches!(&answers[0], Err(Error::Conflict { position, .. }) if position.get() == 1));
    assert_eq!(first(&answers[1]), 3, "{answers:?}");
    store.close().await;
}

/// The second request conflicts with an event of the log and with the first request. The error has
/// the position of the event in the log.
async fn deferred_request_gets_the_first_conflict<S: SharedStore>() {
    let log = log_with_long_timeout::<S>().await;
    let store = S::connect(&log).await;
    store.append(tagged("seat")).await.unwrap();
    let appends = [
        Append::new(tagged("seat")),
        Append::new(tagged("seat")).condition(unless("seat")),
    ];
    let answers = in_one_batch::<S>(&store, &log, appends).await;
    assert_eq!(first(&answers[0]), 3);
    assert!(matches!(&answers[1], Err(Error::Conflict { position, .. }) if position.get() == 1));
    store.close().await;
}

/// An append that occurs twice in a batch is stored once. An append that reuses its id for other
/// content is refused.
async fn repeated_ids_within_a_batch_are_recognized<S: SharedStore>() {
    let log = log_with_long_timeout::<S>().await;
    let store = S::connect(&log).await;
    let id = uuid::Uuid::now_v7();
    let appends = ["a", "a", "b"].map(|name| Append::new(tagged(name).with_id(id)));
    let answers = in_one_batch::<S>(&store, &log, appends).await;
    assert_eq!((first(&answers[0]), first(&answers[1])), (2, 2));
    assert!(
        matches!(&answers[2], Err(Error::DuplicateId { id: taken }) if *taken == id),
        "{answers:?}"
    );
    assert_eq!(head(&store).await, 2);
    store.close().await;
}

/// A trigger of the database refuses one request of the batch.
async fn failing_request_of_a_batch_fails_alone<S: SharedStore>() {
    let log = log_with_long_timeout::<S>().await;
    let store = S::connect(&log).await;
    S::refuse_events_of_type(&log, "Poison").await;
    for failing in [0, 37, 99] {
        let before = head(&store).await + 1;
        let append = |number| {
            let types = match number {
                // The failing event is the first or the last of its append.
                37 if failing == 37 => ["Poison", "Happened"],
                _ if number == failing => ["Happened", "Poison"],
                _ => ["Happened", "Happened"],
            };
            Append::new(types.map(|name| event(name, &[])))
        };
        let answers = in_one_batch::<S>(&store, &log, (0..100).map(append)).await;
        let mut expected = before + 1;
        for (number, answer) in answers.iter().enumerate() {
            if number == failing {
                let error = answer.as_ref().unwrap_err();
                assert!(S::is_trigger_error(error), "{error:?}");
            } else {
                assert_eq!(first(answer), expected, "request {number}");
                expected += 2;
            }
        }
        assert_eq!(head(&store).await + 1, expected);
    }
    assert_eq!(store.stats().largest_batch, 100);
    let log = positions(&whole_log(&store).await);
    assert_eq!(log, (1..=log.len() as u64).collect::<Vec<_>>());
    store.close().await;
}

/// A bug stored the tracking of a deferred request with the batch that only checked it. The batch
/// failed if it had the same source twice; otherwise the tracking was stored without its events.
async fn refused_request_of_a_batch_tracks_nothing<S: SharedStore>() {
    let log = log_with_long_timeout::<S>().await;
    let store = S::connect(&log).await;
    let tracked = |tag: &str, source: &str, position| {
        Append::new(tagged(tag)).tracking(Tracking::new(source, position).unwrap())
    };
    let appends = [
        tracked("seat", "one", 1),
        tracked("other", "one", 1),
        tracked("seat", "two", 1).condition(unless("seat")),
    ];
    let answers = in_one_batch::<S>(&store, &log, appends).await;
    assert_eq!(first(&answers[0]), 2);
    assert!(
        matches!(&answers[1], Err(Error::AlreadyTracked { tracked: 1, .. })),
        "{answers:?}"
    );
    assert!(matches!(&answers[2], Err(Error::Conflict { position, .. }) if position.get() == 2));
    assert_eq!(store.tracked("one").await.unwrap(), Some(1));
    assert_eq!(store.tracked("two").await.unwrap(), None);
    store.close().await;
}
