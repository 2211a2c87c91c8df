//! Requests that share a commit.
//!
//! The test holds the file's write lock, so that the first append waits for it and those that come
//! meanwhile are the next batch.

use std::time::Duration;

use dcb_core::{Append, Appended, Error, EventStore as _, Tracking};

use crate::support::events::{event, head, positions, read, tag, tagged, unless, whole_log};
use crate::support::files::{LogLock, commits, foreign};
use crate::support::wait::wait_for_queued;
use crate::support::{Log, Store, begin, connect, fresh_log};

type Answer = Result<Appended, Error>;

/// A log whose appends may wait as long as it takes to make a batch of many.
async fn patient_log() -> Log {
    let mut log = fresh_log().await;
    log.append_timeout = Duration::from_secs(60);
    log
}

/// Answers of appends that were in one batch, in this order.
async fn in_one_batch(
    store: &Store,
    lock: LogLock,
    appends: impl IntoIterator<Item = Append>,
) -> Vec<Answer> {
    let ahead = begin(store, Append::new(tagged("ahead of the batch"))).await;
    // Else it would be in the batch, if the thread that commits is slow to take it.
    wait_for_queued(store, 0).await;
    let mut tasks = Vec::new();
    for append in appends {
        tasks.push(begin(store, append).await);
    }
    lock.release();
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

#[tokio::test(flavor = "multi_thread")]
async fn of_one_condition_the_first_request_wins() {
    let log = patient_log().await;
    let store = connect(&log).await;
    let seat = || Append::new(tagged("seat")).condition(unless("seat"));
    let answers = in_one_batch(&store, LogLock::take(&log), (0..100).map(|_| seat())).await;
    let winner = first(&answers[0]);
    for loser in &answers[1..] {
        assert!(
            matches!(loser, Err(Error::Conflict { position }) if position.get() == winner),
            "{loser:?}"
        );
    }
    assert_eq!(positions(&read(&store, &tag("seat")).await), [winner]);
    let stats = store.stats();
    assert_eq!((stats.commits, stats.largest_batch), (2, 100), "{stats:?}");
    assert_eq!(stats.conflicts, 99);
    store.close().await;
}

/// The request that stands against it in the batch is refused itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_goes_ahead_if_what_stands_against_it_was_refused() {
    let log = patient_log().await;
    let store = connect(&log).await;
    store.append(tagged("taken")).await.unwrap();
    let refused = Append::new(tagged("seat")).condition(unless("taken"));
    let next = Append::new(tagged("seat")).condition(unless("seat"));
    let answers = in_one_batch(&store, LogLock::take(&log), [refused, next]).await;
    assert!(matches!(&answers[0], Err(Error::Conflict { position }) if position.get() == 1));
    assert_eq!(first(&answers[1]), 3, "{answers:?}");
    store.close().await;
}

/// One conflict is in the log, another in the batch.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_told_the_first_conflict() {
    let log = patient_log().await;
    let store = connect(&log).await;
    store.append(tagged("seat")).await.unwrap();
    let appends = [
        Append::new(tagged("seat")),
        Append::new(tagged("seat")).condition(unless("seat")),
    ];
    let answers = in_one_batch(&store, LogLock::take(&log), appends).await;
    assert_eq!(first(&answers[0]), 3);
    assert!(matches!(&answers[1], Err(Error::Conflict { position }) if position.get() == 1));
    store.close().await;
}

/// The same append twice in a batch is stored once; its id with other content is refused.
#[tokio::test(flavor = "multi_thread")]
async fn ids_are_unique_within_a_batch() {
    let log = patient_log().await;
    let store = connect(&log).await;
    let id = uuid::Uuid::now_v7();
    let appends = ["a", "a", "b"].map(|name| Append::new(tagged(name).with_id(id)));
    let answers = in_one_batch(&store, LogLock::take(&log), appends).await;
    assert_eq!((first(&answers[0]), first(&answers[1])), (2, 2));
    assert!(
        matches!(&answers[2], Err(Error::DuplicateEventId { id: told }) if *told == id),
        "{answers:?}"
    );
    assert_eq!(head(&store).await, 2);
    store.close().await;
}

/// The data error is one that only the database can see.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_at_fault_fails_alone() {
    let log = patient_log().await;
    let store = connect(&log).await;
    let poison = "CREATE TRIGGER poison BEFORE INSERT ON dcb_event WHEN NEW.type = 'Poison' \
                  BEGIN SELECT RAISE(ABORT, 'poison'); END";
    foreign(&log).execute_batch(poison).unwrap();
    for at_fault in [0, 37, 99] {
        let before = head(&store).await + 1;
        let append = |number| match number == at_fault {
            true => Append::new([event("Happened", &[]), event("Poison", &[])]),
            false => Append::new([event("Happened", &[]), event("Happened", &[])]),
        };
        let answers = in_one_batch(&store, LogLock::take(&log), (0..100).map(append)).await;
        let mut expected = before + 1;
        for (number, answer) in answers.iter().enumerate() {
            if number == at_fault {
                assert!(
                    matches!(answer, Err(Error::Database { message, .. }) if message.contains("poison")),
                    "{answer:?}"
                );
            } else {
                assert_eq!(first(answer), expected, "of number {number}");
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

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_appends_share_commits() {
    let log = patient_log().await;
    let store = connect(&log).await;
    let tasks: Vec<_> = (0..2000)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.append(tagged("a")).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let stats = store.stats();
    assert_eq!((stats.appends, stats.events), (2000, 2000));
    assert!(stats.commits < 500, "{stats:?}");
    assert_eq!(stats.commits as usize, commits(&log.path()).len() - 1);
    store.close().await;
}

/// Told by the write-ahead log: each commit ends a run of its frames.
#[tokio::test(flavor = "multi_thread")]
async fn a_lone_append_takes_one_transaction() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let installed = commits(&log.path()).len();
    for number in 1..=30 {
        let name = number.to_string();
        let answer = store.append_if(tagged(&name), unless("other")).await;
        assert_eq!(first(&answer), number);
    }
    // What is refused leaves nothing there.
    let refused = store.append_if(tagged("31"), unless("30")).await;
    assert!(
        matches!(refused, Err(Error::Conflict { .. })),
        "{refused:?}"
    );
    assert_eq!(commits(&log.path()).len() - installed, 30);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_request_of_a_batch_tracks_nothing() {
    let log = patient_log().await;
    let store = connect(&log).await;
    let tracked = |tag: &str, source: &str, position| {
        Append::new(tagged(tag)).tracking(Tracking::new(source, position).unwrap())
    };
    let appends = [
        tracked("seat", "one", 1),
        tracked("other", "one", 1),
        tracked("seat", "two", 1).condition(unless("seat")),
    ];
    let answers = in_one_batch(&store, LogLock::take(&log), appends).await;
    assert_eq!(first(&answers[0]), 2);
    assert!(
        matches!(&answers[1], Err(Error::AlreadyTracked { tracked: 1, .. })),
        "{answers:?}"
    );
    assert!(matches!(&answers[2], Err(Error::Conflict { position }) if position.get() == 2));
    assert_eq!(store.tracked("one").await.unwrap(), Some(1));
    assert_eq!(store.tracked("two").await.unwrap(), None);
    store.close().await;
}
