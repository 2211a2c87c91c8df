//! Files and folders that can't be written.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sqlite_store::{FileConfig, Location};
use store_fault::Fault;

use crate::Place;
use crate::folder::ReadOnly;
use crate::store::{Answer, Failed, Store};

/// Asserts that the call was refused, and returns the error's text.
fn refused<T: Debug>(called: Answer<T>) -> String {
    match called {
        Err(Failed {
            fault: Some(Fault::ReadOnlyFile { .. }),
            is_transient: false,
            text,
        }) => text,
        called => panic!("{called:?}"),
    }
}

fn file(path: &Path) -> FileConfig {
    FileConfig::new(Location::File(path.to_owned()))
}

async fn open_to_read<S: Store>(path: &Path) -> Answer<S> {
    let mut file = file(path);
    file.read_only = true;
    S::open(file).await
}

/// Reads work, and each write is refused.
async fn check_reads<S: Store>(path: &Path, records: u64) {
    let store: S = open_to_read(path).await.expect("a store for reads");
    assert_eq!(store.count().await.unwrap(), records);
    let health = store.health().await.unwrap();
    let access = ("access", "read-only".to_owned());
    assert!(health.durability.contains(&access), "{health:?}");
    refused(store.write().await);
    refused(store.write_blocking());
    refused(store.delete().await);
    store.close().await;
}

async fn check_refuses_writer<S: Store>(path: &Path) {
    let text = refused(S::open(file(path)).await.map(|_| ()));
    assert!(text.contains(&path.display().to_string()), "{text}");
    refused(S::repair(file(path)));
}

fn write_ahead_log(path: &Path) -> PathBuf {
    format!("{}-wal", path.display()).into()
}

/// SQLite needs a `-shm` beside a file in WAL mode, and can't make it here.
pub(crate) async fn store_in_read_only_folder_is_read<S: Store>(place: &Place<S>) {
    place.fill(5).await;
    let Some(_guard) = ReadOnly::make(place.folder.path()) else {
        return;
    };
    check_reads::<S>(&place.path(), 5).await;
    check_refuses_writer::<S>(&place.path()).await;
    // No file is there, and none can be made.
    check_refuses_writer::<S>(&place.path().with_extension("absent")).await;
}

pub(crate) async fn read_only_file_is_read<S: Store>(place: &Place<S>) {
    place.fill(5).await;
    let Some(_guard) = ReadOnly::make(&place.path()) else {
        return;
    };
    check_reads::<S>(&place.path(), 5).await;
    check_refuses_writer::<S>(&place.path()).await;
}

/// A backup is not in WAL mode until a writer opens it. Characters with a meaning in URIs are part of
/// its name.
pub(crate) async fn backup_in_read_only_folder_is_read<S: Store>(place: &Place<S>) {
    place.fill(5).await;
    let store = place.open().await;
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("50% off? #1.db");
    store.backup(&copy).await.unwrap();
    store.close().await;
    let in_wal_mode = copies.path().join("a%20b?mode=memory#.db");
    fs::copy(place.path(), &in_wal_mode).unwrap();
    let Some(_guard) = ReadOnly::make(copies.path()) else {
        return;
    };
    check_reads::<S>(&copy, 5).await;
    check_reads::<S>(&in_wal_mode, 5).await;
    let reader: S = open_to_read(&copy).await.unwrap();
    let copied = place.folder.path().join("copy of copy");
    reader.backup(&copied).await.unwrap();
    reader.close().await;
    check_reads::<S>(&copied, 5).await;
}

/// The newest records are only in the `-wal`, which SQLite ignores in an immutable file.
pub(crate) async fn unfinished_write_ahead_log_in_read_only_folder_is_not_ignored<S: Store>(
    place: &Place<S>,
) {
    place.fill(5).await;
    let store = place.open().await;
    store.write().await.unwrap();
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("store.db");
    fs::copy(place.path(), &copy).unwrap();
    fs::copy(write_ahead_log(&place.path()), write_ahead_log(&copy)).unwrap();
    store.close().await;
    let Some(guard) = ReadOnly::make(copies.path()) else {
        return;
    };
    let text = refused(open_to_read::<S>(&copy).await.map(|_| ()));
    assert!(text.contains("-wal"), "{text}");
    drop(guard);
    check_reads::<S>(&copy, 6).await;
}

/// A store for reads beside a writer follows it.
pub(crate) async fn store_for_reads_sees_what_others_write<S: Store>(place: &Place<S>) {
    place.fill(5).await;
    let reader: S = open_to_read(&place.path()).await.unwrap();
    let store = place.open().await;
    for records in 6..60 {
        store.write().await.unwrap();
        assert_eq!(reader.count().await.unwrap(), records);
    }
    store.close().await;
    reader.close().await;
    check_reads::<S>(&place.path(), 59).await;
}

/// Nothing is installed in a file that is opened for reads.
pub(crate) async fn file_without_store_is_refused_for_reads<S: Store>(place: &Place<S>) {
    let other = Connection::open(place.path()).unwrap();
    other.execute_batch("CREATE TABLE own (n)").unwrap();
    drop(other);
    let opened = open_to_read::<S>(&place.path()).await.map(|_| ());
    let fault = opened.unwrap_err().fault;
    assert!(
        matches!(fault, Some(Fault::SchemaChanged { .. })),
        "{fault:?}"
    );
    let absent = place.path().with_extension("absent");
    let opened = open_to_read::<S>(&absent).await.map(|_| ());
    let fault = opened.unwrap_err().fault;
    assert!(matches!(fault, Some(Fault::Unreachable(_))), "{fault:?}");
    assert!(!absent.exists());
}

pub(crate) async fn memory_is_refused_for_reads<S: Store>(_: &Place<S>) {
    let mut memory = FileConfig::new(Location::Memory);
    memory.read_only = true;
    let refused = S::open(memory).await.map(|_| ()).unwrap_err();
    assert!(refused.fault.is_none(), "{refused:?}");
    assert!(refused.text.contains("read_only"), "{refused:?}");
}
