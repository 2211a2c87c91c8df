use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conformance_suite::effort;
use message_store::{
    CategoryRead, Error, GlobalPosition, MessageStore, RecordedMessage, StreamWrite,
};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::Subject;
use super::fixture::{
    ANY, all, category, exactly, fill, message, messages, name, numbers, positions, stream,
};

const WRITERS: u64 = 16;

pub(super) async fn one_of_concurrent_writers_wins_version(
    store: &Subject<impl MessageStore + 'static>,
) {
    fill(&**store, "account-1", 1).await;
    let rounds = effort(30) as u64;
    for round in 0..rounds {
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let store = Arc::clone(store);
            writers.spawn(async move {
                let account = name("account-1");
                store
                    .write_message(&account, message(writer), exactly(round))
                    .await
            });
        }
        let outcomes = writers.join_all().await;
        let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(won, 1, "round {round}: {outcomes:?}");
        for outcome in outcomes {
            match outcome {
                Ok(written) => assert_eq!(written.position.get(), round + 1),
                Err(Error::WrongExpectedVersion { actual, .. }) => {
                    assert_eq!(actual.map(|actual| actual.get()), Some(round + 1));
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert_eq!(
        positions(&stream(&**store, "account-1").await),
        (0..=rounds).collect::<Vec<_>>()
    );
}

pub(super) async fn concurrent_writers_without_version_all_succeed(
    store: &Subject<impl MessageStore + 'static>,
) {
    let rounds = effort(20) as u64;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let store = Arc::clone(store);
        writers.spawn(async move {
            for round in 0..rounds {
                let account = name(&format!("account-{}", writer % 3));
                let batch = messages(1 + round % 3);
                let written = store.write_batch(&account, batch, ANY).await.unwrap();
                let first = written[0].position.get();
                assert!(
                    (first..)
                        .zip(&written)
                        .all(|(position, one)| one.position.get() == position)
                );
            }
        });
    }
    writers.join_all().await;
    for account in ["account-0", "account-1", "account-2"] {
        let positions = positions(&stream(&**store, account).await);
        assert_eq!(positions, (0..positions.len() as u64).collect::<Vec<_>>());
    }
    assert!(
        all(&**store)
            .await
            .is_sorted_by(|a, b| a.global_position() < b.global_position())
    );
}

/// Pages a category, or all messages, from the start until `wanted` messages were seen.
async fn page(
    store: &impl MessageStore,
    category_name: &str,
    wanted: usize,
) -> Vec<RecordedMessage> {
    let (mut seen, mut next): (Vec<RecordedMessage>, _) = (Vec::new(), GlobalPosition::START);
    while seen.len() < wanted {
        let options = CategoryRead::new().position(next).batch_size(10);
        let page = store
            .get_category_messages(&category(category_name), options)
            .await
            .unwrap();
        match page.last() {
            Some(last) => next = last.global_position().next(),
            None => tokio::time::sleep(Duration::from_millis(1)).await,
        }
        seen.extend(page);
    }
    seen
}

pub(super) async fn paging_readers_miss_no_message(store: &Subject<impl MessageStore + 'static>) {
    let rounds = effort(40) as u64;
    let mut tasks = JoinSet::new();
    for (category_name, wanted) in [("", WRITERS * rounds), ("c0", WRITERS / 2 * rounds)] {
        let store = Arc::clone(store);
        tasks.spawn(async move {
            let paging = page(&*store, category_name, wanted as usize);
            let seen = tokio::time::timeout(Duration::from_secs(60), paging).await;
            let mut numbers = numbers(&seen.expect("no message is missed"));
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len() as u64, wanted, "each message is seen once");
        });
    }
    for writer in 0..WRITERS {
        let store = Arc::clone(store);
        tasks.spawn(async move {
            for round in 0..rounds {
                let stream_name = name(&format!("c{}-{writer}", writer % 2));
                let number = writer * rounds + round;
                store
                    .write_message(&stream_name, message(number), ANY)
                    .await
                    .unwrap();
            }
        });
    }
    tasks.join_all().await;
}

pub(super) async fn concurrent_repeated_write_is_stored_once(
    store: &Subject<impl MessageStore + 'static>,
) {
    for round in 0..effort(20) as u128 {
        let mut writers = JoinSet::new();
        for _ in 0..WRITERS {
            let store = Arc::clone(store);
            writers.spawn(async move {
                let two = [2 * round, 2 * round + 1].map(Uuid::from_u128);
                let batch = two.map(|id| message(0).with_id(id)).to_vec();
                store
                    .write_batch(&name("account-1"), batch, ANY)
                    .await
                    .unwrap()
            });
        }
        let answers = writers.join_all().await;
        assert!(
            answers.iter().all(|answer| *answer == answers[0]),
            "{answers:?}"
        );
    }
    let stored = stream(&**store, "account-1").await;
    assert_eq!(stored.len(), 2 * effort(20));
}

pub(super) async fn concurrent_writes_to_several_streams_do_not_deadlock(
    store: &Subject<impl MessageStore + 'static>,
) {
    let rounds = effort(20) as u64;
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let store = Arc::clone(store);
        writers.spawn(async move {
            for round in 0..rounds {
                let mut streams = ["a-1", "b-1", "c-1"];
                streams.rotate_left(((writer + round) % 3) as usize);
                let writes = streams
                    .map(|streams| StreamWrite::new(name(streams), messages(2)))
                    .to_vec();
                store.write_streams(writes).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    for streams in ["a-1", "b-1", "c-1"] {
        let positions = positions(&stream(&**store, streams).await);
        assert_eq!(positions, (0..16 * rounds).collect::<Vec<_>>());
    }
}

pub(super) async fn dropped_write_is_whole_or_absent(store: &Subject<impl MessageStore + 'static>) {
    let busy = Arc::new(AtomicBool::new(true));
    let mut others = JoinSet::new();
    for other in 0..4 {
        let (store, busy) = (Arc::clone(store), Arc::clone(&busy));
        others.spawn(async move {
            while busy.load(Ordering::Relaxed) {
                fill(&*store, &format!("other-{other}"), 1).await;
                tokio::task::yield_now().await;
            }
        });
    }
    for round in 0..effort(40) as u64 {
        let store = Arc::clone(store);
        let write = tokio::spawn(async move {
            store
                .write_batch(&name("account-1"), messages(3), ANY)
                .await
        });
        tokio::time::sleep(Duration::from_micros(50 * (round % 20))).await;
        write.abort();
        // The write has either completed or been cancelled.
        let _ = write.await;
    }
    busy.store(false, Ordering::Relaxed);
    others.join_all().await;
    // If a cancelled write is still being committed, this write is committed after it.
    fill(&**store, "account-1", 3).await;
    let stored = stream(&**store, "account-1").await;
    let expected: Vec<u64> = [0, 1, 2].repeat(stored.len() / 3);
    assert_eq!(numbers(&stored), expected);
    assert_eq!(
        positions(&stored),
        (0..expected.len() as u64).collect::<Vec<_>>()
    );
}

pub(super) async fn write_sends_notification(store: &Subject<impl MessageStore + 'static>) {
    let mut notifications = store.notifications();
    for _ in 0..3 {
        fill(&**store, "account-1", 1).await;
        let hint = tokio::time::timeout(Duration::from_secs(30), notifications.changed()).await;
        hint.expect("a write sends a notification");
    }
}
