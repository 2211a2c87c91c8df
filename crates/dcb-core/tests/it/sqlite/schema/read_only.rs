//! Files and folders that can't be written.

use std::fs;
use std::path::Path;

use dcb_core::sqlite::{Config, SqliteStore, rebuild_keys};
use dcb_core::{Error, EventStore as _, Fault};

use crate::support::events::{head, read, tag, tagged, unless, whole_log};
use crate::support::sqlite::files::{foreign, write_ahead_log};
use crate::support::sqlite::read_only::ReadOnly;
use crate::support::sqlite::{connect, fresh_log, log_at};

fn is_read_only<T>(called: &Result<T, Error>) -> bool {
    matches!(called, Err(error @ Error::Fault(Fault::ReadOnlyFile { .. })) if !error.is_transient())
}

async fn open_to_read(path: &Path) -> Result<SqliteStore, Error> {
    SqliteStore::open(Config::file(path).read_only()).await
}

/// Reads work, and each write is refused.
async fn check_reads(path: &Path, events: usize) {
    let store = open_to_read(path).await.expect("a store for reads");
    assert_eq!(whole_log(&store).await.len(), events);
    assert_eq!(read(&store, &tag("a")).await.len(), events);
    assert_eq!(head(&store).await, events as u64);
    let health = store.health().await.unwrap();
    assert!(
        health
            .durability
            .contains(&("access", "read-only".to_owned()))
    );
    let append = store.append(tagged("a")).await;
    assert!(is_read_only(&append), "{append:?}");
    let append = store.blocking().append_if(tagged("b"), unless("b"));
    assert!(is_read_only(&append), "{append:?}");
    let cleared = store.clear().await;
    assert!(is_read_only(&cleared), "{cleared:?}");
    store.close().await;
}

async fn check_refuses_writer(path: &Path) {
    let opened = SqliteStore::open(Config::file(path)).await;
    assert!(is_read_only(&opened), "{opened:?}");
    let text = opened.unwrap_err().to_string();
    assert!(text.contains(&path.display().to_string()), "{text}");
    let rebuilt = rebuild_keys(&Config::file(path));
    assert!(is_read_only(&rebuilt), "{rebuilt:?}");
}

/// A log with events, some of whose keys are in the file.
async fn filled_log() -> crate::support::sqlite::Log {
    let mut log = fresh_log().await;
    log.keys_in_memory = 0;
    let store = connect(&log).await;
    for _ in 0..5 {
        store.append(tagged("a")).await.unwrap();
    }
    store.close().await;
    log
}

/// SQLite needs a `-shm` beside a log in WAL mode, and can't make it here.
#[tokio::test(flavor = "multi_thread")]
async fn log_in_read_only_folder_is_read() {
    let log = filled_log().await;
    let Some(_guard) = ReadOnly::make(log.path().parent().unwrap()) else {
        return;
    };
    check_reads(&log.path(), 5).await;
    check_refuses_writer(&log.path()).await;
    // No file is there, and none can be made.
    let absent = log.path().with_extension("absent");
    check_refuses_writer(&absent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_file_is_read() {
    let log = filled_log().await;
    let Some(_guard) = ReadOnly::make(&log.path()) else {
        return;
    };
    check_reads(&log.path(), 5).await;
    check_refuses_writer(&log.path()).await;
}

/// A backup is not in WAL mode until a writer opens it. Characters with a meaning in URIs are part of
/// its name.
#[tokio::test(flavor = "multi_thread")]
async fn backup_in_read_only_folder_is_read() {
    let log = filled_log().await;
    let store = connect(&log).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("50% off? #1.db");
    store.backup(&path).await.unwrap();
    store.close().await;
    let in_wal_mode = folder.path().join("a%20b?mode=memory#.db");
    fs::copy(log.path(), &in_wal_mode).unwrap();
    let Some(_guard) = ReadOnly::make(folder.path()) else {
        return;
    };
    check_reads(&path, 5).await;
    check_reads(&in_wal_mode, 5).await;
    let store = open_to_read(&path).await.unwrap();
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("copy.db");
    store.backup(&copy).await.unwrap();
    store.close().await;
    check_reads(&copy, 5).await;
}

/// The newest events are only in the `-wal`, which SQLite ignores in an immutable file.
#[tokio::test(flavor = "multi_thread")]
async fn unfinished_write_ahead_log_in_read_only_folder_is_not_ignored() {
    let log = filled_log().await;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    fs::copy(log.path(), &path).unwrap();
    fs::copy(write_ahead_log(&log.path()), write_ahead_log(&path)).unwrap();
    store.close().await;
    let Some(guard) = ReadOnly::make(folder.path()) else {
        return;
    };
    let opened = open_to_read(&path).await;
    assert!(is_read_only(&opened), "{opened:?}");
    assert!(opened.unwrap_err().to_string().contains("-wal"));
    drop(guard);
    check_reads(&path, 6).await;
}

/// A store for reads beside a writer follows it.
#[tokio::test(flavor = "multi_thread")]
async fn store_for_reads_sees_what_others_append() {
    let log = filled_log().await;
    let reader = open_to_read(&log.path()).await.unwrap();
    let store = connect(&log).await;
    for events in 6..60 {
        store.append(tagged("a")).await.unwrap();
        assert_eq!(read(&reader, &tag("a")).await.len(), events);
    }
    store.close().await;
    reader.close().await;
    check_reads(&log.path(), 59).await;
}

/// Nothing is installed in a file that is opened for reads.
#[tokio::test(flavor = "multi_thread")]
async fn file_without_log_is_refused_for_reads() {
    let folder = tempfile::tempdir().unwrap();
    let other = log_at(folder.path().join("other.db"));
    foreign(&other)
        .execute_batch("CREATE TABLE own (n)")
        .unwrap();
    let opened = open_to_read(&other.path()).await;
    assert!(
        matches!(&opened, Err(Error::Fault(Fault::SchemaChanged { .. }))),
        "{opened:?}"
    );
    let absent = open_to_read(&folder.path().join("absent.db")).await;
    assert!(
        matches!(&absent, Err(Error::Fault(Fault::Unreachable(_)))),
        "{absent:?}"
    );
    let in_memory = SqliteStore::open(Config::memory().read_only()).await;
    assert!(
        matches!(&in_memory, Err(Error::Invalid { field, .. }) if field == "read_only"),
        "{in_memory:?}"
    );
}
