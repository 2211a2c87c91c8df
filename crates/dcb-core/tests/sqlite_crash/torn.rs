//! A write-ahead log of which the machine's death left only a part, or a damaged part.

use std::fs;
use std::path::Path;

use dcb_core::sqlite::Config;
use dcb_core::sqlite::blocking::SqliteStore;
use dcb_core::{Event, Query, ReadOptions};

use crate::support::events::tagged;
use crate::support::files::{commits, write_ahead_log};

/// The events of the append with this number; the number is their tag.
fn events(number: usize) -> Vec<Event> {
    vec![tagged(&number.to_string()); 1 + number % 4]
}

/// A file whose write-ahead log holds so many appends.
fn write(path: &Path, appends: usize) -> SqliteStore {
    let store = SqliteStore::open(Config::file(path)).unwrap();
    for number in 0..appends {
        store.append(events(number)).unwrap();
    }
    store
}

/// What a machine that died leaves: the database, and this much of the write-ahead log.
fn left_behind(path: &Path, wal: &[u8], folder: &Path) -> SqliteStore {
    let copy = folder.join("left.db");
    for old in [copy.clone(), write_ahead_log(&copy)] {
        let _ = fs::remove_file(old);
    }
    fs::copy(path, &copy).unwrap();
    fs::write(write_ahead_log(&copy), wal).unwrap();
    SqliteStore::open(Config::file(copy)).unwrap()
}

/// How many appends the log holds: each whole, in order, from the first on without a gap.
fn whole_appends(store: &SqliteStore) -> usize {
    let log = store
        .query(&Query::all(), ReadOptions::new())
        .unwrap()
        .events;
    let mut rest = log.as_slice();
    let mut number = 0;
    while !rest.is_empty() {
        let count = events(number).len();
        let (own, others) = rest.split_at_checked(count).expect("a whole append");
        let tag = number.to_string();
        assert!(own.iter().all(|event| event.has_tag(&tag)), "{own:?}");
        (rest, number) = (others, number + 1);
    }
    for (event, expected) in log.iter().zip(1..) {
        assert_eq!(event.position().get(), expected);
    }
    number
}

const APPENDS: usize = 12;

#[test]
fn a_cut_write_ahead_log_leaves_whole_appends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let store = write(&path, APPENDS);
    let commits = commits(&path);
    let installed = commits.len() - APPENDS;
    let wal = fs::read(write_ahead_log(&path)).unwrap();
    for (number, &end) in commits.iter().enumerate().skip(installed) {
        let expected = number - installed;
        // All but the last byte of a commit is nothing of it.
        for (cut, expected) in [(end - 1, expected), (end, expected + 1)] {
            let left = left_behind(&path, &wal[..cut], folder.path());
            assert_eq!(whole_appends(&left), expected, "cut at {cut}");
            let next = left.append(events(expected)).unwrap();
            assert_eq!(whole_appends(&left), expected + 1, "{next:?}");
            left.close();
        }
    }
    store.close();
}

/// What comes after damage is not there, however whole it is itself.
#[test]
fn a_damaged_write_ahead_log_leaves_what_is_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let store = write(&path, APPENDS);
    let commits = commits(&path);
    let installed = commits.len() - APPENDS;
    let wal = fs::read(write_ahead_log(&path)).unwrap();
    for (number, &end) in commits.iter().enumerate().skip(installed) {
        let mut wal = wal.clone();
        wal[end - 100] ^= 1;
        let left = left_behind(&path, &wal, folder.path());
        assert_eq!(whole_appends(&left), number - installed);
        left.close();
    }
    store.close();
}
