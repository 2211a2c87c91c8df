//! Logs and checkpoints in PostgreSQL.

use std::sync::Arc;

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{
    Bookmark, Error, EventStore as _, ProjectionRunner, ReadModel as _, ReadOptions,
    SubscribeOptions,
};

use super::{KEPT, LOST, assert_replaced, number, numbered};
use crate::runner::tally::Tally;
use crate::support::events::{at, tag, unless, whole_log};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log};

/// Puts a backup of the log's tables in place of them, as a restore of the data does, and lets the
/// log grow past its old end.
async fn restore(log: &Config) {
    let schema = &log.schema;
    let mut sql = Sql::connect(&log.url).await;
    sql.run(&format!(
        "BEGIN; SELECT pg_advisory_xact_lock(1145262642, '{schema}.event'::regclass::oid::int); \
         CREATE TEMP TABLE e ON COMMIT DROP AS SELECT * FROM {schema}.event WHERE position <= {KEPT}; \
         CREATE TEMP TABLE t ON COMMIT DROP AS SELECT * FROM {schema}.event_tag WHERE position <= {KEPT}; \
         TRUNCATE {schema}.event, {schema}.event_tag; \
         INSERT INTO {schema}.event SELECT * FROM e; \
         INSERT INTO {schema}.event_tag SELECT * FROM t; COMMIT"
    ))
    .await;
    sql.close().await;
    let other = connect(log).await;
    for number in 107..=112 {
        other.append(numbered("a", number)).await.unwrap();
    }
    other.close().await;
}

async fn filled() -> (Config, PostgresStore) {
    let log = fresh_log().await;
    let store = connect(&log).await;
    for number in 1..=LOST {
        store.append(numbered("a", number)).await.unwrap();
    }
    (log, store)
}

#[tokio::test(flavor = "multi_thread")]
async fn reloaded_tables_are_noticed() {
    let (log, store) = filled().await;
    let read = store.query(&tag("a"), ReadOptions::new()).await.unwrap();
    let mut events = store.subscribe(tag("a"), None, SubscribeOptions::new());
    events.next_batch().await.unwrap().unwrap();
    restore(&log).await;
    let refused = store
        .append_if(numbered("a", 999), unless("b").after(read.head))
        .await;
    assert_replaced(refused, LOST);
    assert_replaced(events.next().await.unwrap(), LOST);
    assert_eq!(whole_log(&store).await.len(), 12);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn append_in_a_transaction_is_refused() {
    use sqlx::Connection as _;
    let (log, store) = filled().await;
    let read = store.query(&tag("a"), ReadOptions::new()).await.unwrap();
    restore(&log).await;
    let mut session = dcb_core::postgres::PgConnection::connect(&log.url)
        .await
        .unwrap();
    let mut transaction = session.begin().await.unwrap();
    let append = dcb_core::Append::new(numbered("a", 999)).condition(unless("b").after(read.head));
    assert_replaced(store.submit_in(&mut transaction, append).await, LOST);
    transaction.commit().await.unwrap();
    assert_eq!(whole_log(&store).await.len(), 12);
    store.close().await;
}

/// Reads that wait for a connection together share a statement.
#[tokio::test(flavor = "multi_thread")]
async fn each_read_of_a_crowd_is_checked() {
    let mut log = fresh_log().await;
    log.read_connections = 1;
    let store = connect(&log).await;
    for number in 1..=LOST {
        store.append(numbered("a", number)).await.unwrap();
    }
    let read = store.query(&tag("a"), ReadOptions::new()).await.unwrap();
    let places: Vec<Bookmark> = read.events.iter().map(|event| event.bookmark()).collect();
    restore(&log).await;
    for _ in 0..20 {
        let reads = places.iter().map(|place| {
            let (store, options) = (store.clone(), ReadOptions::new().after(*place));
            tokio::spawn(async move { store.query(&tag("a"), options).await })
        });
        let reads: Vec<_> = reads.collect();
        for (place, read) in places.iter().zip(reads) {
            let (answer, position) = (read.await.unwrap(), place.position.get());
            if position > KEPT {
                assert_replaced(answer, position);
            } else {
                assert_eq!(answer.unwrap().events.len() as u64, 12 - position);
            }
        }
    }
    store.close().await;
}

async fn stored(log: &Config) -> Vec<String> {
    let mut sql = Sql::connect(&log.url).await;
    let checkpoint = format!(
        "SELECT position::text, coalesce(bookmark, 'none') FROM {}.checkpoint",
        log.schema
    );
    let row = sql.row(&checkpoint).await;
    sql.close().await;
    row
}

#[tokio::test(flavor = "multi_thread")]
async fn checkpoint_has_the_id() {
    let (log, store) = filled().await;
    Tally::install(&log).await;
    let runner = || ProjectionRunner::new(store.clone(), tag("a"), Tally::new(&log).model(&log));
    assert_eq!(runner().catch_up().await.unwrap(), Some(at(LOST)));
    let last = whole_log(&store).await.pop().unwrap().bookmark();
    assert_eq!(stored(&log).await, [LOST.to_string(), last.to_string()]);
    restore(&log).await;
    assert_replaced(runner().catch_up().await, LOST);
    assert_eq!(Tally::seen(&log).await.len() as u64, LOST);
    assert_eq!(runner().rebuild().await.unwrap(), Some(at(12)));
    assert_eq!(Tally::seen(&log).await, (1..=12).collect::<Vec<_>>());
    store.close().await;
}

/// Before version 4 of the schema each projection made its table, at first without a bookmark. A program of the older version, still
/// running beside this one, moves the position alone.
#[tokio::test(flavor = "multi_thread")]
async fn checkpoint_of_an_older_version_is_upgraded() {
    let (log, store) = filled().await;
    Tally::install(&log).await;
    let schema = &log.schema;
    let mut sql = Sql::connect(&log.url).await;
    sql.run(&format!(
        "DROP TABLE {schema}.checkpoint, {schema}.kept_state, {schema}.projection, {schema}.projection_slice, \
         {schema}.projection_member, {schema}.projection_event; DELETE FROM {schema}.migration WHERE version > 3; \
         CREATE TABLE {schema}.checkpoint (name text NOT NULL, position bigint NOT NULL, \
         CONSTRAINT checkpoint_pkey PRIMARY KEY (name)); \
         INSERT INTO {schema}.checkpoint VALUES ('tally', 3)"
    ))
    .await;
    let runner = || ProjectionRunner::new(store.clone(), tag("a"), Tally::new(&log).model(&log));
    runner().catch_up().await.unwrap();
    assert_eq!(Tally::seen(&log).await, (4..=LOST).collect::<Vec<_>>());
    let last = whole_log(&store).await.pop().unwrap().bookmark();
    assert_eq!(stored(&log).await, [LOST.to_string(), last.to_string()]);
    sql.run(&format!("UPDATE {schema}.checkpoint SET position = 9"))
        .await;
    let mut model = Tally::new(&log).model(&log);
    assert_eq!(model.checkpoint().await.unwrap(), Some(at(9).into()));
    runner().catch_up().await.unwrap();
    assert_eq!(stored(&log).await, [LOST.to_string(), last.to_string()]);
    sql.close().await;
    store.close().await;
}

/// A slow runner comes back with a batch of lost events, after another has rebuilt the state up to
/// the same position.
#[tokio::test(flavor = "multi_thread")]
async fn lost_batch_is_not_applied_to_a_rebuilt_state() {
    let (log, store) = filled().await;
    Tally::install(&log).await;
    let batches = || store.subscribe(tag("a"), None, SubscribeOptions::new().batch_size(8));
    let mut events = batches();
    let first = Arc::new(events.next_batch().await.unwrap().unwrap());
    let second = Arc::new(events.next_batch().await.unwrap().unwrap());
    assert_eq!(number(&second.events[0]), 9);
    let mut model = Tally::new(&log).model(&log);
    model.apply(Arc::clone(&first), None).await.unwrap();
    restore(&log).await;
    let again = Arc::new(batches().next_batch().await.unwrap().unwrap());
    model.reset().await.unwrap();
    model.apply(again, None).await.unwrap();
    let late = model.apply(second, Some(first.through)).await;
    assert!(
        matches!(late, Err(Error::CheckpointMoved { .. })),
        "{late:?}"
    );
    assert_eq!(Tally::seen(&log).await.len(), 8);
    store.close().await;
}

/// Versions 1 and 2 did not check ids. A program of an older version, still running, calls the new
/// functions with the old parameters.
#[tokio::test(flavor = "multi_thread")]
async fn schema_of_version_2_is_upgraded() {
    let log = fresh_log().await;
    connect(&log).await.close().await;
    let schema = &log.schema;
    let mut sql = Sql::connect(&log.url).await;
    sql.run(&format!(
        "DELETE FROM {schema}.migration WHERE version > 2; DROP FUNCTION {schema}.refusals; \
         DROP TABLE {schema}.kept_state, {schema}.projection, {schema}.projection_slice, \
         {schema}.projection_member, {schema}.projection_event"
    ))
    .await;
    for file in [
        include_str!("../../../schema/postgres/versions/2/refusals.sql"),
        include_str!("../../../schema/postgres/versions/1/append.sql"),
    ] {
        let file = file.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION");
        sql.run(&file.replace("dcb.", &format!("{schema}."))).await;
    }
    let store = connect(&log).await;
    for number in 1..=LOST {
        store.append(numbered("a", number)).await.unwrap();
    }
    let lost = unless("b").after(Bookmark::new(at(LOST), uuid::Uuid::max()));
    assert_replaced(store.append_if(numbered("a", 999), lost).await, LOST);
    let head = sql
        .row(&format!(
            "SELECT head FROM {schema}.append(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
             NULL, NULL, '{{1}}', '{{NULL}}', '{{\"{{b}}\"}}', '{{3}}', '{{NULL}}', \
             NULL, NULL, NULL, NULL, NULL, NULL)"
        ))
        .await;
    assert_eq!(head[0], LOST.to_string());
    sql.close().await;
    store.close().await;
}
