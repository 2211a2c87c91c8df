//! The log events of a store about its file.

use sqlite_store::{FileConfig, Location};
use store_meter::testing::Log;

use crate::Place;
use crate::locks::Lock;
use crate::store::Store;

/// Each write fails after half a second, so the wait lasts over several of them.
pub(crate) async fn lock_of_another_connection_is_told_once_and_when_it_is_free<S: Store>(
    place: &Place<S>,
) {
    let store = place.open_with_short_limit().await;
    let log = Log::begin();
    let lock = Lock::take(place);
    for _ in 0..6 {
        store.write_blocking().unwrap_err();
    }
    let (path, held) = (place.path(), "another connection holds the lock");
    let file = path.to_str().expect("the path is text");
    log.assert_one(held, &["WARN", file, "waited=2."]);
    drop(lock);
    for _ in 0..3 {
        store.write_blocking().unwrap();
    }
    log.assert_one(held, &[]);
    let free = "the lock of the file is free again";
    log.assert_one(free, &["INFO", file, "waited="]);
    store.close().await;
}

/// A store in memory is new each time, so its installation says nothing.
pub(crate) async fn installation_of_a_file_is_told_once<S: Store>(place: &Place<S>) {
    let log = Log::begin();
    S::open_blocking(FileConfig::new(Location::Memory)).unwrap();
    for _ in 0..2 {
        S::open_blocking(place.file()).unwrap();
    }
    let path = place.path();
    let file = path.to_str().expect("the path is text");
    log.assert_one("the schema was installed", &["INFO", file, "from=0"]);
}
