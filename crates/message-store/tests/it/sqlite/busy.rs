use std::time::Duration;

use conformance_suite::assert_greatest;
use message_store::sqlite::{BlockingSqliteStore, Config, SqliteStore};
use message_store::{Error, ExpectedVersion, Fault, MessageStore, Position};
use rusqlite::Connection;

use crate::support::UNLIMITED;
use crate::support::sqlite::{all, message, open, stream_name};

/// A store whose writes wait 50 ms for a lock.
fn open_with_short_timeout(path: &std::path::Path) -> BlockingSqliteStore {
    let mut config = Config::file(path);
    config.write_timeout = Duration::from_millis(50);
    BlockingSqliteStore::open(config).unwrap()
}

#[test]
fn write_waits_for_foreign_lock_until_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let store = open_with_short_timeout(&path);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store.write_message(&stream_name("a-1"), message(0), ExpectedVersion::Any);
    assert!(
        matches!(
            refused,
            Err(Error::Fault(Fault::TimedOut {
                operation: "write",
                ..
            }))
        ),
        "{refused:?}"
    );
    assert!(all(&store).is_empty(), "readers do not wait");
    other.execute_batch("COMMIT").unwrap();
    store
        .write_message(&stream_name("a-1"), message(0), ExpectedVersion::Any)
        .unwrap();
    assert_eq!(all(&store).len(), 1);
}

/// A program that keeps its tables in the same file holds the lock. The batch of all callers but the
/// first waits for the lock when their time ends. They were told that the outcome is unknown, and
/// their messages were written after the release.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_of_callers_whose_time_ends_before_their_commit_begins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let mut config = Config::file(&path);
    config.write_timeout = Duration::from_millis(500);
    let store = SqliteStore::open(config).await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let writes = (0..30).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(number)).await;
            let stream = stream_name("a-1");
            store
                .write_message(&stream, message(number), ExpectedVersion::Any)
                .await
        })
    });
    for write in writes.collect::<Vec<_>>() {
        let refused = write.await.unwrap();
        assert!(
            matches!(
                refused,
                Err(Error::Fault(Fault::TimedOut {
                    operation: "write",
                    ..
                }))
            ),
            "{refused:?}"
        );
    }
    other.execute_batch("COMMIT").unwrap();
    let stream = stream_name("a-1");
    let later = store.write_message(&stream, message(99), ExpectedVersion::NoStream);
    later.await.unwrap();
    assert_eq!(all(store.blocking()).len(), 1);
}

#[tokio::test]
async fn task_waiting_for_lock_does_not_block_thread() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let store = SqliteStore::from(open(&path));
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let account = stream_name("a-1");
    let write = store.write_message(&account, message(0), ExpectedVersion::Any);
    // Both run on the single thread of this runtime.
    let release = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        other.execute_batch("COMMIT").unwrap();
    };
    let (written, ()) = tokio::join!(write, release);
    written.unwrap();
}

/// `Duration::MAX` is longer than a clock can count, and longer than SQLite supports.
#[tokio::test]
async fn every_limit_may_have_its_greatest_value() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::file(folder.path().join("messages.sqlite"));
    config.limits = UNLIMITED;
    config.write_timeout = Duration::MAX;
    config.read_timeout = Duration::MAX;
    config.max_batch_requests = usize::MAX;
    config.max_batch_bytes = usize::MAX;
    config.max_queued_requests = usize::MAX;
    config.max_queued_bytes = usize::MAX;
    config.read_connections = u32::MAX;
    config.cache_bytes = usize::MAX;
    config.max_open_namespaces = usize::MAX;
    assert_greatest(&config);
    let store = SqliteStore::open(config).await.unwrap();
    let (blocking, stream) = (store.blocking(), stream_name("a-1"));
    blocking
        .write_message(&stream, message(0), ExpectedVersion::Any)
        .unwrap();
    store
        .write_message(&stream, message(1), ExpectedVersion::Any)
        .await
        .unwrap();
    assert_eq!(all(blocking).len(), 2);
    assert_eq!(
        store
            .truncate_stream(&stream, Position::new(1))
            .await
            .unwrap(),
        1
    );
}
