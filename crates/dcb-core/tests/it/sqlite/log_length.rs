//! The length of the write-ahead log.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use dcb_core::Event;
use dcb_core::sqlite::{BlockingSqliteStore, Config, Durability};

use crate::support::events::{tag, tagged};

/// SQLite alone begins the log again only in a moment without a read, so it grew as fast as the data.
#[test]
fn log_stays_short_while_reads_overlap() {
    const BOUND: u64 = 64 << 20;
    const EVENT: usize = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let [path, log] = ["log.db", "log.db-wal"].map(|name| folder.path().join(name));
    let config = Config::file(path).durability(Durability::Normal);
    let store = BlockingSqliteStore::open(config).unwrap();
    let event = || {
        let event = Event::builder("Happened").tag("a").data(vec![7; EVENT]);
        event.build().unwrap()
    };
    let few = vec![tagged("b"); 200];
    store.append(few).unwrap();
    let (done, mut longest) = (AtomicBool::new(false), 0);
    let written = thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    store.count(&tag("b")).unwrap();
                }
            });
        }
        let mut written = 0;
        while written < 3 * BOUND {
            store.append(event()).unwrap();
            written += EVENT as u64;
            longest = longest.max(fs::metadata(&log).unwrap().len());
        }
        done.store(true, Ordering::Relaxed);
        written
    });
    assert_eq!(store.count(&tag("a")).unwrap(), written / EVENT as u64);
    assert!(longest < BOUND + (16 << 20), "{longest}");
}
