//! Open transactions of other users of the file.

use dcb_core::sqlite::SqliteStore;
use dcb_core::{Append, Error, EventStore as _};

use crate::backends::foreign_transactions::assert_nothing_is_hidden;
use crate::support::backend::begin;
use crate::support::events::{at, head, positions, read, tag, tagged, unless, whole_log};
use crate::support::sqlite::files::{LogLock, foreign};
use crate::support::sqlite::{connect, fresh_log};

#[tokio::test(flavor = "multi_thread")]
async fn open_snapshot_of_the_log_hides_nothing() {
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
    assert_nothing_is_hidden::<SqliteStore>(&log).await;
    assert_eq!(count(), 1, "the transaction keeps its snapshot");
    reader.execute_batch("COMMIT").unwrap();
    assert!(count() > 1);
    store.close().await;
}

/// The open transaction holds the file's only write lock, so appends of all stores wait.
#[tokio::test(flavor = "multi_thread")]
async fn appends_wait_for_an_open_write_transaction() {
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
            (Ok(first), Err(Error::Conflict { position, .. })) => {
                assert_eq!(first.first(), *position);
                assert_eq!(stored, [position.get()]);
            }
            // The conditional append committed first.
            (Ok(_), Ok(_)) => assert_eq!(stored.len(), 2),
            _ => panic!("{winner:?} {late:?}"),
        }
    }
    store.close().await;
    other.close().await;
}

/// The foreign transaction creates an unrelated table and rolls back.
#[tokio::test(flavor = "multi_thread")]
async fn rolled_back_transaction_leaves_nothing() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let writer = foreign(&log);
    writer
        .execute_batch("BEGIN IMMEDIATE; CREATE TABLE foreign_to_the_log (number INTEGER)")
        .unwrap();
    let waiting = begin(&store, Append::new(tagged("a"))).await;
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().first().get(), 1);
    assert_nothing_is_hidden::<SqliteStore>(&log).await;
    store.close().await;
}
