//! Checks of the table's name, and of the stores that a reader takes. They need no log.

use std::sync::{Arc, Mutex};

use dcb_core::sqlite::{Config, SqliteReadModel, SqliteStore};
use dcb_core::{
    Error, EventStore as _, MemoryStore, Projection, ProjectionRunner, SliceKey, StateReader,
    StatesByKey,
};
use rusqlite::Connection;

use super::{Account, States, event, states, with_key};

fn named(table: &str) -> Result<States, Error> {
    with_key(table, SliceKey::tag("account"))
}

#[test]
fn table_has_a_plain_name() {
    for name in ["a", "order", "accounts_1", &"a".repeat(63)] {
        assert!(named(name).is_ok(), "{name}");
    }
    let refused = ["", "1a", "_a", "A", "a-b", "a.b", "a\"b", "a b", "ä", "a\0"];
    let reserved = ["dcb_event", "pg_class", "sqlite_master"];
    for name in refused
        .iter()
        .chain(&reserved)
        .chain([&"a".repeat(64).as_str()])
    {
        let refused = named(name);
        let is_right = matches!(&refused, Err(Error::Invalid { field, .. }) if field == "table");
        assert!(is_right, "{name}: {refused:?}");
    }
}

#[test]
fn projection_that_depends_on_no_event_is_refused() {
    let none: Vec<dcb_core::Projector<Account>> = Vec::new();
    assert!(none.check().is_err());
    let refused = StatesByKey::new("accounts", SliceKey::tag("account"), none);
    assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
}

/// A table whose name is a word of SQL, beside a store in memory.
#[tokio::test]
async fn states_of_a_store_in_memory_are_on_a_connection() {
    let store = MemoryStore::new();
    store.append(event("Paid", "a", 3)).await.unwrap();
    let states = named("order").unwrap();
    let tables = Arc::new(Mutex::new(Connection::open_in_memory().unwrap()));
    let reader = StateReader::on_connection(Arc::clone(&tables), &states);
    assert_eq!(reader.get("a").await.unwrap().balance, 0);
    let model = SqliteReadModel::on_connection(tables, "accounts", states.clone()).unwrap();
    let mut runner = ProjectionRunner::new(store, states.query(), model);
    runner.catch_up().await.unwrap();
    assert_eq!(reader.get("a").await.unwrap().balance, 3);
    assert_eq!(reader.clone().list(None, 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn reader_over_a_log_in_memory_is_refused() {
    let store = SqliteStore::open(Config::memory()).await.unwrap();
    let refused = StateReader::sqlite(&store, &states().1);
    let is_right = matches!(&refused, Err(Error::Invalid { field, .. }) if field == "store");
    assert!(is_right, "{refused:?}");
    store.close().await;
}
