//! Write-ahead logs that a crash of the machine truncated or damaged.

use std::fs;
use std::path::Path;

use dcb_core::sqlite::BlockingSqliteStore;
use dcb_core::sqlite::Config;
use dcb_core::{Event, Query, ReadOptions};

use crate::support::events::tagged;
use crate::support::sqlite::files::{commits, write_ahead_log};

/// The events of the append with this number. The number is their tag.
fn events(number: usize) -> Vec<Event> {
    vec![tagged(&number.to_string()); 1 + number % 4]
}

/// A store over a new file whose write-ahead log holds `appends` appends.
fn write(path: &Path, appends: usize) -> BlockingSqliteStore {
    let store = BlockingSqliteStore::open(Config::file(path)).unwrap();
    for number in 0..appends {
        store.append(events(number)).unwrap();
    }
    store
}

/// Opens a copy of the database with this write-ahead log, as after a crash of the machine.
fn open_after_crash(path: &Path, wal: &[u8], folder: &Path) -> BlockingSqliteStore {
    let copy = folder.join("left.db");
    for old in [copy.clone(), write_ahead_log(&copy)] {
        let _ = fs::remove_file(old);
    }
    fs::copy(path, &copy).unwrap();
    fs::write(write_ahead_log(&copy), wal).unwrap();
    BlockingSqliteStore::open(Config::file(copy)).unwrap()
}

/// The number of appends in the log. Asserts that they are complete, in order and without a gap.
fn whole_appends(store: &BlockingSqliteStore) -> usize {
    let log = store
        .query(&Query::all(), ReadOptions::new())
        .unwrap()
        .events;
    let mut rest = log.as_slice();
    let mut number = 0;
    while !rest.is_empty() {
        let count = events(number).len();
        let (events, others) = rest.split_at_checked(count).expect("a complete append");
        let tag = number.to_string();
        assert!(events.iter().all(|event| event.has_tag(&tag)), "{events:?}");
        (rest, number) = (others, number + 1);
    }
    for (event, expected) in log.iter().zip(1..) {
        assert_eq!(event.position().get(), expected);
    }
    number
}

const APPENDS: usize = 12;

#[test]
fn truncated_write_ahead_log_keeps_whole_appends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let store = write(&path, APPENDS);
    let commits = commits(&path);
    let installed = commits.len() - APPENDS;
    let wal = fs::read(write_ahead_log(&path)).unwrap();
    for (number, &end) in commits.iter().enumerate().skip(installed) {
        let expected = number - installed;
        // A commit that lacks its last byte does not count.
        for (cut, expected) in [(end - 1, expected), (end, expected + 1)] {
            let left = open_after_crash(&path, &wal[..cut], folder.path());
            assert_eq!(whole_appends(&left), expected, "cut at {cut}");
            let next = left.append(events(expected)).unwrap();
            assert_eq!(whole_appends(&left), expected + 1, "{next:?}");
            left.close();
        }
    }
    store.close();
}

/// SQLite ignores everything after the damage, even intact commits.
#[test]
fn damaged_write_ahead_log_keeps_earlier_appends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let store = write(&path, APPENDS);
    let commits = commits(&path);
    let installed = commits.len() - APPENDS;
    let wal = fs::read(write_ahead_log(&path)).unwrap();
    for (number, &end) in commits.iter().enumerate().skip(installed) {
        let mut wal = wal.clone();
        wal[end - 100] ^= 1;
        let left = open_after_crash(&path, &wal, folder.path());
        assert_eq!(whole_appends(&left), number - installed);
        left.close();
    }
    store.close();
}
