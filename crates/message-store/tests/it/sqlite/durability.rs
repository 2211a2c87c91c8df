use message_store::sqlite::{BlockingSqliteStore, Config, Durability};
use message_store::{Error, ExpectedVersion};

use crate::support::sqlite::{all, message, open, stream_name};

#[test]
fn health_reports_durability_settings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    for (durability, synchronous, is_durable) in [
        (Durability::Full, "2", true),
        (Durability::Normal, "1", false),
    ] {
        let config = Config::file(&path).durability(durability);
        let health = BlockingSqliteStore::open(config).unwrap().health().unwrap();
        let settings: Vec<_> = health
            .durability
            .iter()
            .map(|(_, value)| value.as_str())
            .collect();
        assert_eq!(settings, ["wal", synchronous]);
        assert_eq!(health.is_durable, is_durable);
    }
    let memory = BlockingSqliteStore::open(Config::memory()).unwrap();
    assert!(!memory.health().unwrap().is_durable);
}

#[test]
fn closed_store_leaves_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let store = open(&path);
    store
        .write_message(&stream_name("a-1"), message(0), ExpectedVersion::Any)
        .unwrap();
    assert_eq!(all(&store).len(), 1);
    store.close();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(all(&open(&path)).len(), 1);
}

#[test]
fn backup_during_writes_is_consistent() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (
        folder.path().join("messages.sqlite"),
        folder.path().join("copy.sqlite"),
    );
    let store = open(&path);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..200 {
                store
                    .write_message(&stream_name("a-1"), message(number), ExpectedVersion::Any)
                    .unwrap();
            }
        });
        while all(&store).len() < 20 {
            std::thread::yield_now();
        }
        store.backup(&copy).unwrap();
        writer.join().unwrap();
    });
    let copied = all(&open(&copy));
    assert!(copied.len() >= 20);
    assert_eq!(copied, all(&store)[..copied.len()]);
    assert!(
        store.backup(&copy).is_err(),
        "a backup never replaces a file"
    );
    assert_eq!(all(&open(&copy)), copied);
}

#[test]
fn in_memory_store_is_backed_up_to_file() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.sqlite");
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    store
        .write_message(&stream_name("a-1"), message(0), ExpectedVersion::Any)
        .unwrap();
    store.backup(&copy).unwrap();
    assert_eq!(all(&open(&copy)), all(&store));
}

#[test]
fn backup_changes_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.sqlite");
    let others = folder.path().join("copy.sqlite.part");
    std::fs::write(&others, "foreign content").unwrap();
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    store.backup(&copy).unwrap();
    store.backup(&copy).unwrap_err();
    assert_eq!(std::fs::read(&others).unwrap(), b"foreign content");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn unwritable_backup_is_io_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    let refused = store.backup(&folder.path().join("absent").join("copy.sqlite"));
    assert!(matches!(refused, Err(Error::Io { .. })), "{refused:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
