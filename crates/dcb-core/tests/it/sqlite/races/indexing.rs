//! Several stores keep tag keys in memory while the keys move into the file's index.
//!
//! The stores share only the file. Each has its own memory, like stores in separate processes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use conformance_suite::effort;
use dcb_core::sqlite::{BlockingSqliteStore, Config};
use dcb_core::{Bookmark, Error, Fault, Position, Query, ReadOptions};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::events::{event, positions, tag, tagged, unless};

fn open(folder: &TempDir, keys_in_memory: usize) -> BlockingSqliteStore {
    let mut config = Config::file(folder.path().join("log.db"));
    config.keys_in_memory = keys_in_memory;
    BlockingSqliteStore::open(config).unwrap()
}

fn foreign(folder: &TempDir) -> Connection {
    Connection::open(folder.path().join("log.db")).unwrap()
}

fn number(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn found(store: &BlockingSqliteStore, query: &Query) -> Vec<u64> {
    positions(&store.query(query, ReadOptions::new()).unwrap().events)
}

/// All events share a tag. A read that finds fewer events than the log has missed a key, and a read
/// that finds more saw a key twice.
#[test]
fn reads_and_conditions_see_every_key_while_keys_move() {
    const COMMON: &str = "common";
    let folder = tempfile::tempdir().unwrap();
    let stores = [open(&folder, 8), open(&folder, 20)];
    let names = 100 * effort(2);
    let ended = AtomicBool::new(false);
    let append = |store: &BlockingSqliteStore| {
        let mut won = 0;
        for name in 0..names {
            let name = format!("name:{name}");
            let taken = event("Taken", &[COMMON, &name]);
            match store.append_if(taken, unless(&name)) {
                Ok(_) => won += 1,
                Err(Error::Conflict { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        won
    };
    let read = |store: &BlockingSqliteStore| {
        let typed = Query::builder().event_type("Taken").tag(COMMON);
        let queries = [typed.build().unwrap(), tag(COMMON)];
        let last = ReadOptions::new().backwards().limit(30);
        while !ended.load(Ordering::Relaxed) {
            for query in &queries {
                let all = store.extent(query, ..).unwrap();
                assert_eq!(
                    all.count,
                    Position::number_or_zero(Bookmark::position_of(all.head))
                );
                assert_eq!(all.last, all.head);
                let read = store.query(query, last).unwrap();
                let head = Position::number_or_zero(Bookmark::position_of(read.head));
                let expected: Vec<u64> = (1..=head).rev().take(30).collect();
                assert_eq!(positions(&read.events), expected);
            }
        }
    };
    thread::scope(|scope| {
        let writers = stores.each_ref().map(|store| scope.spawn(|| append(store)));
        let readers = stores.each_ref().map(|store| scope.spawn(|| read(store)));
        let won = writers.map(|writer| writer.join());
        ended.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
        let won: usize = won.into_iter().map(Result::unwrap).sum();
        assert_eq!(won, names, "each name is taken once");
    });
    for store in &stores {
        for name in 0..names {
            assert_eq!(found(store, &tag(&format!("name:{name}"))).len(), 1);
        }
    }
    let indexed = number(&foreign(&folder), "SELECT through FROM dcb_indexed");
    assert!(indexed > 0, "no key has moved into the index");
}

#[test]
fn reopened_log_finds_keys_that_were_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 10);
    for name in 0..50 {
        store.append(tagged(&format!("name:{name}"))).unwrap();
    }
    store.close();
    let through = number(&foreign(&folder), "SELECT through FROM dcb_indexed");
    assert!(
        (1..50).contains(&through),
        "some keys must be in memory and some in the index: {through}"
    );
    let store = open(&folder, 10);
    for name in 0..50 {
        assert_eq!(found(&store, &tag(&format!("name:{name}"))), [name + 1]);
    }
}

/// Each event has two keys.
#[test]
fn keys_in_memory_stay_within_the_limit() {
    const ALLOWED: i64 = 100;
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, ALLOWED as usize);
    let file = foreign(&folder);
    let mut indexed_at = 0;
    for name in 1..=300 {
        store.append(tagged(&format!("name:{name}"))).unwrap();
        let through = number(&file, "SELECT through FROM dcb_indexed");
        let in_memory = 2 * (name - through);
        assert!(in_memory <= ALLOWED + ALLOWED / 4 + 4, "{in_memory} keys");
        let rows = number(&file, "SELECT count(*) FROM dcb_event_tag");
        let moved = rows - indexed_at;
        assert!(moved <= 8, "an append of two keys moved {moved} keys");
        indexed_at = rows;
    }
    assert!(indexed_at > 0);
}

/// The positions of the failed batch go to other events.
#[test]
fn failed_batch_leaves_no_keys() {
    let folder = tempfile::tempdir().unwrap();
    let stores = [open(&folder, 4), open(&folder, 4)];
    let poison = "CREATE TRIGGER poison BEFORE INSERT ON dcb_event WHEN NEW.type = 'Poison' \
                  BEGIN SELECT RAISE(ABORT, 'poison'); END";
    foreign(&folder).execute_batch(poison).unwrap();
    for round in 0..20 {
        let (refused, taken) = (format!("refused:{round}"), format!("taken:{round}"));
        let events = [tagged(&refused), event("Poison", &[&refused])];
        let failed = stores[0].append(events).unwrap_err();
        assert!(
            matches!(failed, Error::Fault(Fault::Refused(_))),
            "{failed:?}"
        );
        stores[0]
            .append_if(tagged(&taken), unless(&refused))
            .unwrap();
        for store in &stores {
            assert_eq!(found(store, &tag(&taken)), [round + 1]);
            let conflict = store.append_if(tagged("other"), unless(&taken));
            assert!(
                matches!(conflict, Err(Error::Conflict { .. })),
                "{conflict:?}"
            );
        }
    }
}

/// An older copy of the file is restored while a store has it open and moves keys. Then other
/// events take the positions of events whose keys were about to move.
#[test]
fn shortened_log_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 20);
    let older: Vec<_> = (0..20).map(|_| tagged("older")).collect();
    store.append(older).unwrap();
    store.append(tagged("begins to move keys")).unwrap();
    let put_back = "DELETE FROM dcb_event WHERE position > 1";
    foreign(&folder).execute_batch(put_back).unwrap();
    store.append(tagged("name:2")).unwrap();
    open(&folder, 20).append(tagged("name:3")).unwrap();
    for name in 4..=12 {
        store.append(tagged(&format!("name:{name}"))).unwrap();
    }
    for store in [&store, &open(&folder, 20)] {
        for name in 2..=12 {
            let tag_of_name = format!("name:{name}");
            assert_eq!(found(store, &tag(&tag_of_name)), [name]);
            let conflict = store.append_if(tagged("other"), unless(&tag_of_name));
            assert!(
                matches!(conflict, Err(Error::Conflict { .. })),
                "{conflict:?}"
            );
        }
    }
}

/// The restored copy has fewer keys in its index, and another store has appended to it.
#[test]
fn shortened_index_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, 0);
    for name in 1..=10 {
        store.append(tagged(&format!("older:{name}"))).unwrap();
    }
    let put_back = "DELETE FROM dcb_event; DELETE FROM dcb_event_tag; \
                    UPDATE dcb_indexed SET through = 0";
    foreign(&folder).execute_batch(put_back).unwrap();
    let other = open(&folder, 1000);
    for name in 1..=20 {
        other.append(tagged(&format!("name:{name}"))).unwrap();
    }
    for name in 21..=40 {
        store.append(tagged(&format!("name:{name}"))).unwrap();
    }
    for name in 1..=40 {
        assert_eq!(found(&store, &tag(&format!("name:{name}"))), [name]);
    }
    let indexed = number(&foreign(&folder), "SELECT through FROM dcb_indexed");
    assert!(indexed > 20, "keys must continue to move: {indexed}");
}

#[test]
fn log_cleared_by_another_store_is_read_again() {
    for keys_in_memory in [0, 100] {
        let folder = tempfile::tempdir().unwrap();
        let (store, other) = (open(&folder, keys_in_memory), open(&folder, keys_in_memory));
        store.append(["a", "b", "c"].map(tagged)).unwrap();
        store.append(tagged("d")).unwrap();
        assert_eq!(found(&store, &tag("b")), [2]);
        other.clear().unwrap();
        other.append(["e", "f", "g", "h", "i"].map(tagged)).unwrap();
        assert_eq!(found(&store, &tag("b")), [0; 0]);
        assert_eq!(found(&store, &tag("f")), [2]);
        store.append_if(tagged("j"), unless("a")).unwrap();
        let conflict = store.append_if(tagged("k"), unless("e"));
        assert!(
            matches!(conflict, Err(Error::Conflict { .. })),
            "{conflict:?}"
        );
    }
}
