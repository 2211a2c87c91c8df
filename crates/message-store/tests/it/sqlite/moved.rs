//! A file that people move, remove or replace while a store has it open.

use std::fs;

use message_store::sqlite::{BlockingSqliteStore, SqliteStore};
use message_store::{Error, ExpectedVersion, Fault, MessageStore as _, Position};

use crate::support::sqlite::{message, open, stream_name};

fn is_moved<T>(called: &Result<T, Error>) -> bool {
    matches!(called, Err(error @ Error::Fault(Fault::FileMoved { .. })) if !error.is_transient())
}

async fn assert_notices(store: &BlockingSqliteStore) {
    let stream = stream_name("a-1");
    let blocking = store.write_message(&stream, message(1), ExpectedVersion::Any);
    assert!(is_moved(&blocking), "{blocking:?}");
    let truncated = store.truncate_stream(&stream, Position::new(1));
    assert!(is_moved(&truncated), "{truncated:?}");
    let health = store.health();
    assert!(is_moved(&health), "{health:?}");
    let store = SqliteStore::from(store.clone());
    let write = store.write_message(&stream, message(2), ExpectedVersion::Any);
    let write = write.await;
    assert!(is_moved(&write), "{write:?}");
}

/// SQLite goes on writing to the file without a name. Writes were acknowledged, and gone when the
/// store was opened again.
#[tokio::test]
async fn removed_file_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let store = open(&path);
    let stream = stream_name("a-1");
    store
        .write_message(&stream, message(0), ExpectedVersion::Any)
        .unwrap();
    fs::remove_file(&path).unwrap();
    assert_notices(&store).await;
    // No connection was open for reads.
    let head = store.head();
    assert!(is_moved(&head), "{head:?}");
}

/// A copy has other contents than the write-ahead log beside it, so nothing may be written to it.
#[tokio::test]
async fn replaced_file_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let store = open(&path);
    let stream = stream_name("a-1");
    store
        .write_message(&stream, message(0), ExpectedVersion::Any)
        .unwrap();
    let copy = folder.path().join("copy.sqlite");
    fs::copy(&path, &copy).unwrap();
    fs::rename(&copy, &path).unwrap();
    assert_notices(&store).await;
}
