use rusqlite::{Connection, StatementStatus};
use store_meter::Holder;

use super::*;
use crate::ExpectedVersion;
use crate::sqlite::{BlockingSqliteStore, Config};
use crate::{Message, StreamName};

/// The cost of a statement, in steps of SQLite's virtual machine, in a store of `total` messages in
/// 100 categories.
fn steps(total: usize, statement: &str) -> i32 {
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    for number in 0..total / 100 {
        let stream = StreamName::new(format!("c{}-{}", number % 100, number % 1000)).unwrap();
        let messages = vec![Message::builder("Happened").build().unwrap(); 100];
        store
            .write_batch(&stream, messages, ExpectedVersion::Any)
            .unwrap();
    }
    let cost = |connection: &Connection| {
        let mut select = connection.prepare(statement)?;
        select.raw_bind_parameter(1, "c7")?;
        select.raw_bind_parameter(2, 1)?;
        select.raw_bind_parameter(3, 100)?;
        let mut rows = select.raw_query();
        while rows.next()?.is_some() {}
        drop(rows);
        Ok(select.get_status(StatementStatus::VmStep))
    };
    store.shared.read(Holder::Page, cost).unwrap()
}

#[test]
fn category_read_cost_is_independent_of_store_size() {
    assert_eq!(steps(10_000, CATEGORY), steps(100_000, CATEGORY));
}

/// By default SQLite may prepare a statement again when other values are bound, which costs more
/// than most reads.
#[test]
fn statement_with_new_values_is_not_prepared_again() {
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    let guard = store.shared.writer.lock();
    let mut select = guard.as_ref().unwrap().prepare(STREAM).unwrap();
    for position in 0..5 {
        select.raw_bind_parameter(1, "a-1").unwrap();
        select.raw_bind_parameter(2, position).unwrap();
        select.raw_bind_parameter(3, 10).unwrap();
        assert!(select.raw_query().next().unwrap().is_none());
    }
    assert_eq!(select.get_status(StatementStatus::RePrepare), 0);
}

/// The query plan of a statement.
fn plan(connection: &Connection, statement: &str) -> Vec<String> {
    let explain = format!("EXPLAIN QUERY PLAN {statement}");
    let mut select = connection.prepare(&explain).unwrap();
    let mut rows = select.raw_query();
    let mut plan = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        plan.push(row.get(3).unwrap());
    }
    plan
}

#[test]
fn read_plan_is_one_search_without_sort() {
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    let by_stream = "SEARCH messages USING INDEX messages_stream";
    let plans = [
        (
            STREAM,
            "SEARCH messages USING INDEX messages_stream (stream_name=? AND position>?)",
        ),
        (
            CATEGORY,
            "SEARCH messages USING INDEX messages_category (category=? AND rowid>?)",
        ),
        (ALL, "SEARCH messages USING INTEGER PRIMARY KEY (rowid>?)"),
        (
            CORRELATED,
            "SEARCH messages USING INDEX messages_correlation \
             (correlation=? AND category=? AND rowid>?)",
        ),
        (
            ALL_CORRELATED,
            "SEARCH messages USING INTEGER PRIMARY KEY (rowid>?)",
        ),
        (LAST, by_stream),
        (LAST_OF_TYPE, by_stream),
        (
            VERSION,
            "SEARCH messages USING COVERING INDEX messages_stream",
        ),
        (
            NAME_AFTER,
            "SEARCH messages USING COVERING INDEX messages_stream",
        ),
        (BY_ID, "SEARCH messages USING INDEX messages_id (id=?)"),
        (ID_AT, "SEARCH messages USING INTEGER PRIMARY KEY (rowid=?)"),
    ];
    let guard = store.shared.writer.lock();
    let connection = guard.as_ref().unwrap();
    for (statement, expected) in plans {
        let plan = plan(connection, statement);
        assert_eq!(plan.len(), 1, "{statement}: {plan:?}");
        assert!(plan[0].starts_with(expected), "{statement}: {plan:?}");
    }
}

/// One search finds the first message, the other the messages after it.
#[test]
fn retention_plan_is_two_searches_without_sort() {
    let store = BlockingSqliteStore::open(Config::memory()).unwrap();
    let by_stream = "messages_stream (stream_name=? AND position<?)";
    let first = [
        "SCALAR SUBQUERY 1",
        "SEARCH messages USING COVERING INDEX messages_stream (stream_name=?)",
    ];
    let guard = store.shared.writer.lock();
    let connection = guard.as_ref().unwrap();
    for (statement, index) in [(TRUNCATE, "COVERING INDEX"), (FIRST_SINCE, "INDEX")] {
        let plan = plan(connection, statement);
        let search = format!("SEARCH messages USING {index} {by_stream}");
        assert_eq!(plan[0], search, "{statement}");
        assert_eq!(plan[1..], first, "{statement}");
    }
}
