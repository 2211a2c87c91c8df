//! Events in the log.

use std::time::Duration;

use dcb_core::sqlite::{BlockingSqliteStore, Config};
use rusqlite::Connection;
use store_meter::testing::Log;

use crate::support::events::tagged;

#[test]
fn lock_of_another_connection_is_told_once_and_when_it_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let mut config = Config::file(&path);
    config.write_timeout = Duration::from_millis(300);
    let store = BlockingSqliteStore::open(config).unwrap();
    let log = Log::begin();
    let host = Connection::open(&path).unwrap();
    host.execute_batch("BEGIN IMMEDIATE").unwrap();
    for _ in 0..10 {
        store.append(tagged("a")).unwrap_err();
    }
    let file = path.to_str().unwrap();
    let held = "another connection holds the lock";
    log.assert_one(held, &["WARN", file, "waited=2."]);
    host.execute_batch("COMMIT").unwrap();
    for _ in 0..3 {
        store.append(tagged("a")).unwrap();
    }
    log.assert_one(held, &[]);
    log.assert_one(
        "the lock of the file is free again",
        &["INFO", file, "waited="],
    );
}

#[test]
fn installation_of_a_file_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let log = Log::begin();
    BlockingSqliteStore::open(Config::memory()).unwrap();
    for _ in 0..2 {
        BlockingSqliteStore::open(Config::file(&path)).unwrap();
    }
    let file = path.to_str().unwrap();
    log.assert_one("the schema was installed", &["INFO", file, "from=0 to=1"]);
}
