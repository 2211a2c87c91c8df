//! Events in the log.

use std::time::Duration;

use message_store::ExpectedVersion;
use message_store::sqlite::{BlockingSqliteStore, Config};
use rusqlite::Connection;
use store_meter::testing::Log;

use crate::support::{message, stream_name};

#[test]
fn lock_of_another_connection_is_told_once_and_when_it_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let mut config = Config::file(&path);
    config.write_timeout = Duration::from_millis(300);
    let store = BlockingSqliteStore::open(config).unwrap();
    let write = || store.write_message(&stream_name("a-1"), message(0), ExpectedVersion::Any);
    let log = Log::begin();
    let host = Connection::open(&path).unwrap();
    host.execute_batch("BEGIN IMMEDIATE").unwrap();
    for _ in 0..10 {
        write().unwrap_err();
    }
    let held = "another connection holds the lock";
    log.assert_one(held, &["WARN", "messages.sqlite", "waited=2."]);
    host.execute_batch("COMMIT").unwrap();
    for _ in 0..3 {
        write().unwrap();
    }
    log.assert_one(held, &[]);
    let free = "the lock of the file is free again";
    log.assert_one(free, &["INFO", "messages.sqlite", "waited="]);
}

#[test]
fn installation_of_a_file_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let log = Log::begin();
    BlockingSqliteStore::open(Config::memory()).unwrap();
    for _ in 0..2 {
        BlockingSqliteStore::open(Config::file(&path)).unwrap();
    }
    let parts = ["INFO", "messages.sqlite", "from=0 to=2"];
    log.assert_one("the schema was installed", &parts);
}
