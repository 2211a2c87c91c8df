//! A log that was empty when its plans were made.
//!
//! For a table that its statistics call empty, the planner chooses a sequential scan. The session
//! keeps that plan while the log grows, until autovacuum updates the statistics.

use dcb_core::postgres::PostgresStore;
use dcb_core::{AppendCondition, Event, EventStore as _, Query, ReadOptions};

use super::large_log::counters;
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log};
use crate::support::wait::wait_until;

const START: usize = 300;
const EVENTS: i64 = 20_000;
const REPEATS: i64 = 5;
/// The rows that a round may read. A scan of the log would read far more.
const ROWS_PER_ROUND: i64 = 1000;

fn boundaries() -> Vec<Query> {
    let query = Query::builder;
    [
        query().event_type("Seat").tag("seat:1"),
        query().event_type("Seat").tags(["row:1", "seat:1"]),
        query().tags(["row:1", "seat:1"]),
        query().tag("seat:1"),
        query().event_type("Seat"),
    ]
    .map(|boundary| boundary.build().unwrap())
    .into()
}

/// An append under each boundary, and a read of it.
async fn append_and_read(store: &PostgresStore) {
    for boundary in boundaries() {
        let event = Event::builder("Row").tag("row:1").id(uuid::Uuid::now_v7());
        let condition = AppendCondition::fail_if(boundary.clone());
        store
            .append_if(event.build().unwrap(), condition)
            .await
            .unwrap();
        let options = ReadOptions::new().limit(10);
        assert!(
            store
                .query(&boundary, options)
                .await
                .unwrap()
                .events
                .is_empty()
        );
    }
}

/// Records statistics of the empty tables.
async fn analyze_empty(sql: &mut Sql, schema: &str) {
    for table in ["event", "event_tag", "tracking"] {
        sql.run(&format!("VACUUM (ANALYZE) {schema}.{table}")).await;
    }
}

/// Inserts events after those in the log, without updating the statistics.
async fn grow(sql: &mut Sql, schema: &str) {
    sql.run(&format!(
        "INSERT INTO {schema}.event (position, recorded_at, id, type, tags, data) \
         SELECT i + 1000, now(), gen_random_uuid(), 'Other', ARRAY['other:' || i], '' \
           FROM generate_series(1, {EVENTS}::bigint) i; \
         INSERT INTO {schema}.event_tag (key, position) \
         SELECT {schema}.tag_key(tag, type), position FROM {schema}.event, unnest(tags) tag \
          WHERE position > 1000"
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_cached_on_an_empty_log_stay_cheap_after_growth() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let mut sql = Sql::connect(&log.url).await;
    let schema = &log.schema;
    analyze_empty(&mut sql, schema).await;
    // Reads use the index only in a log that is not short.
    let start = vec![Event::builder("Start").build().unwrap(); START];
    store.append(start).await.unwrap();
    append_and_read(&store).await;
    grow(&mut sql, schema).await;
    let before = counters(&mut sql, schema).await;
    for _ in 0..REPEATS {
        append_and_read(&store).await;
    }
    store.close().await;
    wait_until("the counters are complete", async || {
        counters(&mut sql, schema).await.rows > before.rows
    })
    .await;
    let rows = (counters(&mut sql, schema).await - before).rows / REPEATS;
    println!("{rows} rows per round");
    assert!(rows < ROWS_PER_ROUND, "{rows} rows per round");
    sql.close().await;
}

/// The same for an uncontended writer, which uses another statement.
#[tokio::test(flavor = "multi_thread")]
async fn plan_of_an_uncontended_writer_stays_cheap_after_growth() {
    /// More appends than a writer needs to count as uncontended.
    const UNCONTENDED_APPENDS: usize = 40;
    let log = fresh_log().await;
    let store = connect(&log).await;
    let mut sql = Sql::connect(&log.url).await;
    let schema = &log.schema;
    let appends = async || {
        for _ in 0..UNCONTENDED_APPENDS {
            let seat = Query::builder().event_type("Seat").tag("seat:1").build();
            let condition = AppendCondition::fail_if(seat.unwrap());
            let row = Event::builder("Row").tag("row:1").build().unwrap();
            store.append_if(row, condition).await.unwrap();
        }
    };
    analyze_empty(&mut sql, schema).await;
    appends().await;
    grow(&mut sql, schema).await;
    let before = counters(&mut sql, schema).await;
    appends().await;
    store.close().await;
    wait_until("the counters are complete", async || {
        counters(&mut sql, schema).await.rows > before.rows
    })
    .await;
    let rows = (counters(&mut sql, schema).await - before).rows;
    println!("{rows} rows for {UNCONTENDED_APPENDS} appends");
    assert!(rows < ROWS_PER_ROUND, "{rows} rows");
    sql.close().await;
}
