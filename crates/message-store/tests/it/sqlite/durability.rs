use message_store::sqlite::{BlockingSqliteStore, Config, Durability};
use message_store::{Error, ExpectedVersion};

use crate::support::sqlite::{all, message, open, stream_name};

#[test]
fn durability_is_read_back() {
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
fn a_store_that_was_closed_leaves_one_file() {
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
fn a_backup_is_a_store_of_one_moment() {
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
        "a backup never takes the place of a file"
    );
    assert_eq!(all(&open(&copy)), copied);
}

#[test]
fn a_store_in_memory_is_backed_up_to_a_file() {
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
fn a_backup_touches_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.sqlite");
    let others = folder.path().join("copy.sqlite.part");
    std::fs::write(&others, "of somebody else").unwrap();
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    store.backup(&copy).unwrap();
    store.backup(&copy).unwrap_err();
    assert_eq!(std::fs::read(&others).unwrap(), b"of somebody else");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_backup_that_can_not_be_written_is_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    let refused = store.backup(&folder.path().join("absent").join("copy.sqlite"));
    assert!(matches!(refused, Err(Error::Io { .. })), "{refused:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
