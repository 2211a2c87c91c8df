//! A log that was empty when the plans were made.
//!
//! A planner that knows a table as empty joins it by walking through it. The plan is kept while the
//! log grows, until autovacuum comes by.

use dcb_core::postgres::PostgresStore;
use dcb_core::{AppendCondition, Event, EventStore as _, Query, ReadOptions};

use crate::million::counters;
use crate::support::sql::Sql;
use crate::support::wait::wait_until;
use crate::support::{connect, fresh_log};

const START: usize = 300;
const EVENTS: i64 = 20_000;
const REPEATS: i64 = 5;
/// Far below what a walk through the log would read.
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

/// An append with each boundary, and a read of it.
async fn round(store: &PostgresStore) {
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

/// Has the planner know the tables as empty.
async fn analyze_empty(sql: &mut Sql, schema: &str) {
    for table in ["event", "event_tag", "tracking"] {
        sql.run(&format!("VACUUM (ANALYZE) {schema}.{table}")).await;
    }
}

/// Adds events behind whatever the log holds, without the planner's notice.
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
async fn plans_made_for_an_empty_log_serve_a_grown_one() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let mut sql = Sql::connect(&log.url).await;
    let schema = &log.schema;
    analyze_empty(&mut sql, schema).await;
    // Enough for reads to go by index, which they need not do in a short log.
    let start = vec![Event::builder("Start").build().unwrap(); START];
    store.append(start).await.unwrap();
    round(&store).await;
    grow(&mut sql, schema).await;
    let before = counters(&mut sql, schema).await;
    for _ in 0..REPEATS {
        round(&store).await;
    }
    store.close().await;
    wait_until("the counters are complete", async || {
        counters(&mut sql, schema).await.rows > before.rows
    })
    .await;
    let rows = (counters(&mut sql, schema).await - before).rows / REPEATS;
    println!("{rows} rows a round");
    assert!(rows < ROWS_PER_ROUND, "{rows} rows a round");
    sql.close().await;
}

/// The same for a writer that does not ask where the log ends, because nobody disturbs it.
#[tokio::test(flavor = "multi_thread")]
async fn the_plan_of_an_undisturbed_writer_serves_a_grown_log() {
    const A_WHILE: usize = 40;
    let log = fresh_log().await;
    let store = connect(&log).await;
    let mut sql = Sql::connect(&log.url).await;
    let schema = &log.schema;
    let appends = async || {
        for _ in 0..A_WHILE {
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
    println!("{rows} rows for {A_WHILE} appends");
    assert!(rows < ROWS_PER_ROUND, "{rows} rows");
    sql.close().await;
}
