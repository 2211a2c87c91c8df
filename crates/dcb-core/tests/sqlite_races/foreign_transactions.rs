//! Transactions of others that stay open on the same file.

use std::sync::Arc;

use dcb_core::conformance::CALLERS;
use dcb_core::{Append, Error, EventStore as _, ReadOptions};
use tokio::sync::Barrier;

use crate::support::events::{at, head, positions, read, tag, tagged, unless, whole_log};
use crate::support::files::{LogLock, foreign};
use crate::support::{Log, Store, begin, connect, fresh_log};

/// Each caller is refused because of the event that was just committed.
async fn assert_conflict(store: &Store, callers: usize, name: &str, before: u64) {
    let conflict = append(store, name).await;
    let barrier = Arc::new(Barrier::new(callers));
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (store, barrier) = (store.clone(), Arc::clone(&barrier));
            let condition = unless(name).after(at(before));
            tokio::spawn(async move {
                barrier.wait().await;
                store.append_if(tagged("late"), condition).await
            })
        })
        .collect();
    for task in tasks {
        let answer = task.await.unwrap();
        assert!(
            matches!(&answer, Err(Error::Conflict { position }) if position.get() == conflict),
            "{answer:?} instead of a conflict at {conflict}"
        );
    }
    let options = ReadOptions::new().after(at(before));
    let page = store.query(&tag(name), options).await.unwrap();
    assert_eq!(positions(&page.events), [conflict]);
}

async fn append(store: &Store, name: &str) -> u64 {
    store.append(tagged(name)).await.unwrap().first().get()
}

/// Whatever was committed conflicts, while the foreign transaction is open.
async fn assert_nothing_is_hidden(log: &Log) {
    let store = connect(log).await;
    store.append(tagged("first")).await.unwrap();
    for callers in CALLERS {
        let before = head(&store).await;
        assert_conflict(&store, callers, &format!("of {callers}"), before).await;
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_read_the_log_hides_nothing() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(tagged("first")).await.unwrap();
    let reader = foreign(&log);
    let count = || {
        let sql = "SELECT count(*) FROM dcb_event";
        reader
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(count(), 1);
    assert_nothing_is_hidden(&log).await;
    assert_eq!(count(), 1, "it stays on its snapshot");
    reader.execute_batch("COMMIT").unwrap();
    assert!(count() > 1);
    store.close().await;
}

/// It holds the one write lock that a file has: appends wait for it, and see what it wrote.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_wrote_to_the_log_is_waited_for_and_seen() {
    let log = fresh_log().await;
    let (store, other) = (connect(&log).await, connect(&log).await);
    store.append(tagged("first")).await.unwrap();
    for round in 0..5 {
        let name = format!("round {round}");
        let before = head(&store).await;
        let lock = LogLock::take(&log);
        let winner = begin(&other, Append::new(tagged(&name))).await;
        let condition = unless(&name).after(at(before));
        let late = begin(&store, Append::new(tagged(&name)).condition(condition)).await;
        // Readers do not wait.
        assert_eq!(whole_log(&store).await.len() as u64, before);
        assert!(!winner.is_finished() && !late.is_finished());
        lock.release();
        let (winner, late) = (winner.await.unwrap(), late.await.unwrap());
        let stored = positions(&read(&store, &tag(&name)).await);
        match (&winner, &late) {
            (Ok(first), Err(Error::Conflict { position })) => {
                assert_eq!(first.first(), *position);
                assert_eq!(stored, [position.get()]);
            }
            // It came first.
            (Ok(_), Ok(_)) => assert_eq!(stored.len(), 2),
            _ => panic!("{winner:?} {late:?}"),
        }
    }
    store.close().await;
    other.close().await;
}

/// An unrelated table of the same file is changed, and the change is given up.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_rolled_back_leaves_nothing() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let writer = foreign(&log);
    writer
        .execute_batch("BEGIN IMMEDIATE; CREATE TABLE foreign_to_the_log (number INTEGER)")
        .unwrap();
    let waiting = begin(&store, Append::new(tagged("a"))).await;
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().first().get(), 1);
    assert_nothing_is_hidden(&log).await;
    store.close().await;
}
