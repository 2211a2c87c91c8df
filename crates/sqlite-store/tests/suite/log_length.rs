//! The length of the write-ahead log.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use sqlite_store::Durability;
use store_meter::testing::Log;

use crate::Place;
use crate::store::Store;

/// SQLite alone begins the log again only in a moment without a read, so it grew as fast as the data.
pub(crate) async fn log_stays_short_while_reads_overlap<S: Store>(place: &Place<S>) {
    const BOUND: usize = 64 << 20;
    const CALL: usize = 2_000_000;
    let log_events = Log::begin();
    let log = place.folder.path().join("store.db-wal");
    let mut file = place.file();
    file.durability = Durability::Normal;
    let store = S::open(file).await.expect("the store opens");
    for _ in 0..200 {
        store.write_blocking().unwrap();
    }
    let (done, mut longest) = (AtomicBool::new(false), 0);
    let records = thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    store.read_blocking(200).unwrap();
                }
            });
        }
        let (mut written, mut records) = (0, 200);
        while written < 3 * BOUND {
            records += store.write_bytes_blocking(CALL).unwrap();
            written += CALL;
            longest = longest.max(fs::metadata(&log).unwrap().len());
        }
        done.store(true, Ordering::Relaxed);
        records
    });
    assert_eq!(store.total_blocking().unwrap(), records);
    // If a read keeps the log above its bound, the store says so, and tries again some seconds later.
    let kept = log_events.lines(&["a read keeps the write-ahead log"]);
    let bound = match kept.is_empty() {
        true => BOUND + (16 << 20),
        false => 2 * BOUND,
    };
    assert!(longest < bound as u64, "{longest} {kept:?}");
    store.close().await;
}
