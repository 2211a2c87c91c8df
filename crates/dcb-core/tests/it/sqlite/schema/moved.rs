//! A file that people move, remove or replace while a store has it open.

use std::fs;
use std::path::Path;

use dcb_core::sqlite::SqliteStore;
use dcb_core::{Error, EventStore as _, Fault, Query, ReadOptions};

use crate::support::events::{head, tagged};
use crate::support::sqlite::{connect, fresh_log, log_at};

fn is_moved<T>(called: &Result<T, Error>) -> bool {
    matches!(called, Err(error @ Error::Fault(Fault::FileMoved { .. })) if !error.is_transient())
}

async fn assert_notices(store: &SqliteStore) {
    let append = store.append(tagged("async")).await;
    assert!(is_moved(&append), "{append:?}");
    let blocking = store.blocking().append(tagged("blocking"));
    assert!(is_moved(&blocking), "{blocking:?}");
    let cleared = store.clear().await;
    assert!(is_moved(&cleared), "{cleared:?}");
    let health = store.health().await;
    assert!(is_moved(&health), "{health:?}");
}

/// SQLite goes on writing to the file without a name. Appends were acknowledged, and gone when the
/// log was opened again.
#[tokio::test(flavor = "multi_thread")]
async fn removed_file_is_noticed() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    fs::remove_file(log.path()).unwrap();
    assert_notices(&store).await;
    // No connection was open for reads, and a new one must not create the file.
    let read = store.query(&Query::all(), ReadOptions::new()).await;
    assert!(is_moved(&read), "{read:?}");
    assert!(!log.path().exists());
    store.close().await;
}

/// A copy has other contents than the write-ahead log beside it, so nothing may be written to it.
#[tokio::test(flavor = "multi_thread")]
async fn replaced_file_is_noticed() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let copy = log.path().with_extension("copy");
    fs::copy(log.path(), &copy).unwrap();
    fs::rename(&copy, log.path()).unwrap();
    assert_notices(&store).await;
    store.close().await;
}

fn rename(from: &Path, to: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        fs::rename(name(from), name(to)).unwrap();
    }
}

/// The moved file keeps what was acknowledged, and nothing else. Once it is back, the store goes on.
#[tokio::test(flavor = "multi_thread")]
async fn moved_file_is_noticed_and_keeps_what_was_acknowledged() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let moved = log.path().with_extension("moved");
    rename(&log.path(), &moved);
    assert_notices(&store).await;
    rename(&moved, &log.path());
    assert_eq!(store.append(tagged("b")).await.unwrap().first().get(), 2);
    store.close().await;
    fs::rename(log.path(), &moved).unwrap();
    let store = connect(&log_at(moved)).await;
    assert_eq!(head(&store).await, 2);
    store.close().await;
}
