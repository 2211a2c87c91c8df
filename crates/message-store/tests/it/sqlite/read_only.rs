//! Files and folders that can't be written.

use std::fs;
use std::path::Path;

use message_store::sqlite::{
    BlockingSqliteStore, Config, SqliteNamespaces, SqliteStore, rebuild_columns,
};
use message_store::{
    Error, ExpectedVersion, Fault, GlobalPosition, MessageStore as _, NamespaceName,
    Namespaces as _,
};

use crate::support::read_only::ReadOnly;
use crate::support::sqlite::{all, message, open, stream_name, write};

fn is_read_only<T>(called: &Result<T, Error>) -> bool {
    matches!(called, Err(error @ Error::Fault(Fault::ReadOnlyFile { .. })) if !error.is_transient())
}

fn open_to_read(path: &Path) -> Result<BlockingSqliteStore, Error> {
    BlockingSqliteStore::open(Config::file(path).read_only())
}

/// Reads work, and each write is refused.
async fn check_reads(path: &Path, messages: usize) {
    let store = SqliteStore::from(open_to_read(path).expect("a store for reads"));
    assert_eq!(all(store.blocking()).len(), messages);
    let health = store.health().await.unwrap();
    assert!(
        health
            .durability
            .contains(&("access", "read-only".to_owned()))
    );
    let (stream, any) = (stream_name("a-1"), ExpectedVersion::Any);
    let written = store.write_message(&stream, message(1), any).await;
    assert!(is_read_only(&written), "{written:?}");
    let written = store.blocking().write_message(&stream, message(1), any);
    assert!(is_read_only(&written), "{written:?}");
    let saved = store.save_checkpoint("c", GlobalPosition::new(1)).await;
    assert!(is_read_only(&saved), "{saved:?}");
    store.close().await;
}

fn check_refuses_writer(path: &Path) {
    let opened = BlockingSqliteStore::open(Config::file(path));
    assert!(is_read_only(&opened), "{opened:?}");
    let text = opened.unwrap_err().to_string();
    assert!(text.contains(&path.display().to_string()), "{text}");
    let rebuilt = rebuild_columns(&Config::file(path));
    assert!(is_read_only(&rebuilt), "{rebuilt:?}");
}

async fn fill(path: &Path, messages: u64) {
    let store = SqliteStore::from(open(path));
    for number in 0..messages {
        write(&store, "a-1", number).await;
    }
    store.close().await;
}

/// SQLite needs a `-shm` beside a file in WAL mode, and can't make it here.
#[tokio::test]
async fn store_in_read_only_folder_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    fill(&path, 5).await;
    let Some(_guard) = ReadOnly::make(folder.path()) else {
        return;
    };
    check_reads(&path, 5).await;
    check_refuses_writer(&path);
    // No file is there, and none can be made.
    check_refuses_writer(&folder.path().join("absent.sqlite"));
}

#[tokio::test]
async fn read_only_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    fill(&path, 5).await;
    let Some(_guard) = ReadOnly::make(&path) else {
        return;
    };
    check_reads(&path, 5).await;
    check_refuses_writer(&path);
}

/// A backup is not in WAL mode until a writer opens it. Characters with a meaning in URIs are part of
/// its name.
#[tokio::test]
async fn backup_in_read_only_folder_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    fill(&path, 5).await;
    let store = open(&path);
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("50% off? #1.sqlite");
    store.backup(&copy).unwrap();
    store.close();
    let in_wal_mode = copies.path().join("a%20b?mode=memory#.sqlite");
    fs::copy(&path, &in_wal_mode).unwrap();
    let Some(_guard) = ReadOnly::make(copies.path()) else {
        return;
    };
    check_reads(&copy, 5).await;
    check_reads(&in_wal_mode, 5).await;
    let reader = open_to_read(&copy).unwrap();
    let copied = folder.path().join("copy of copy");
    reader.backup(&copied).unwrap();
    reader.close();
    check_reads(&copied, 5).await;
}

/// The newest messages are only in the `-wal`, which SQLite ignores in an immutable file.
#[tokio::test]
async fn unfinished_write_ahead_log_in_read_only_folder_is_not_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let store = SqliteStore::from(open(&path));
    write(&store, "a-1", 0).await;
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("messages.sqlite");
    fs::copy(&path, &copy).unwrap();
    fs::copy(
        path.with_extension("sqlite-wal"),
        copy.with_extension("sqlite-wal"),
    )
    .unwrap();
    store.close().await;
    let Some(guard) = ReadOnly::make(copies.path()) else {
        return;
    };
    let opened = open_to_read(&copy);
    assert!(is_read_only(&opened), "{opened:?}");
    assert!(opened.unwrap_err().to_string().contains("-wal"));
    drop(guard);
    check_reads(&copy, 1).await;
}

/// A store for reads beside a writer follows it.
#[tokio::test]
async fn store_for_reads_sees_what_others_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    fill(&path, 5).await;
    let reader = open_to_read(&path).unwrap();
    let store = SqliteStore::from(open(&path));
    for messages in 6..20 {
        write(&store, "a-1", 0).await;
        assert_eq!(all(&reader).len(), messages);
    }
    store.close().await;
    reader.close();
}

#[tokio::test]
async fn namespaces_in_read_only_folder_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let namespaces = SqliteNamespaces::new(Config::file(folder.path())).unwrap();
    let name = |name: &str| NamespaceName::new(name).unwrap();
    namespaces.create(&name("one"), None).await.unwrap();
    let store = namespaces.open(&name("one")).await.unwrap();
    write(&store, "a-1", 0).await;
    namespaces.close().await;
    let Some(_guard) = ReadOnly::make(folder.path()) else {
        return;
    };
    let config = Config::file(folder.path()).read_only();
    let namespaces = SqliteNamespaces::new(config).unwrap();
    assert_eq!(namespaces.list().await.unwrap().len(), 1);
    assert_eq!(
        namespaces.get(&name("one")).await.unwrap().name,
        name("one")
    );
    let store = namespaces.open(&name("one")).await.unwrap();
    assert_eq!(all(store.blocking()).len(), 1);
    let created = namespaces.create(&name("two"), None).await;
    assert!(is_read_only(&created), "{created:?}");
    let deleted = namespaces.delete(&name("one")).await;
    assert!(is_read_only(&deleted), "{deleted:?}");
    namespaces.close().await;
}
