//! Opening files, and installing the schema.

use dcb_core::EventStore as _;
use dcb_core::sqlite::{Config, SqliteStore};

use crate::support::events::{head, tagged};
use crate::support::sqlite::files::foreign;
use crate::support::sqlite::{connect, fresh_log};

#[tokio::test(flavor = "multi_thread")]
async fn reopened_file_keeps_its_log() {
    let log = fresh_log().await;
    for expected in 1..=3 {
        let store = connect(&log).await;
        assert_eq!(
            store.append(tagged("a")).await.unwrap().first().get(),
            expected
        );
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_tables_are_left_alone() {
    let log = fresh_log().await;
    let sql = foreign(&log);
    sql.execute_batch("CREATE TABLE event (name TEXT); INSERT INTO event VALUES ('theirs')")
        .unwrap();
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let name: String = sql
        .query_row("SELECT name FROM event", [], |row| row.get(0))
        .unwrap();
    assert_eq!(name, "theirs");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_and_metadata_can_be_queried_with_sql() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let event = dcb_core::Event::builder("Happened")
        .tags(["a\"b", "c"])
        .correlation_id("x\ny")
        .build();
    store.append(event.unwrap()).await.unwrap();
    let found: (i64, String) = foreign(&log)
        .query_row(
            "SELECT position, metadata ->> 'correlationId' FROM dcb_event, json_each(tags) \
              WHERE json_each.value = 'a\"b'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!(found, (1, "x\ny".to_owned()));
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_logs_are_separate() {
    let open = async || SqliteStore::open(Config::memory()).await.unwrap();
    let (one, other) = (open().await, open().await);
    one.append(tagged("a")).await.unwrap();
    assert_eq!((head(&one).await, head(&other).await), (1, 0));
    one.close().await;
    other.close().await;
}
