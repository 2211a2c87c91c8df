//! Catching up with a long log. Prints the time it takes and the time of a plain read.

use std::time::Instant;

use conformance_suite::effort;
use dcb_core::postgres::{Handler, PgConnection, PostgresReadModel};
use dcb_core::{
    Event, EventStore as _, HandlerError, ProjectionRunner, Query, ReadOptions, SequencedEvent,
};
use sqlx::AssertSqlSafe;

use crate::support::postgres::{connect, durable_server, log_on};

/// A read model with one row: the numbers of events and bytes.
struct Totals {
    schema: String,
}

impl Handler for Totals {
    async fn handle(
        &mut self,
        transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        let bytes: usize = events.iter().map(|event| event.data().len()).sum();
        let sql = format!(
            "UPDATE {}.totals SET events = events + $1, bytes = bytes + $2",
            self.schema
        );
        sqlx::query(AssertSqlSafe(sql))
            .bind(events.len() as i64)
            .bind(bytes as i64)
            .execute(transaction)
            .await?;
        Ok(())
    }

    async fn reset(&mut self, transaction: &mut PgConnection) -> Result<(), HandlerError> {
        let sql = format!("UPDATE {}.totals SET events = 0, bytes = 0", self.schema);
        sqlx::query(AssertSqlSafe(sql)).execute(transaction).await?;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn catch_up_processes_a_long_log_completely() {
    const BYTES: usize = 230;
    let events = effort(5_000);
    let server = durable_server().await;
    let log = log_on(server.url());
    let store = connect(&log).await;
    let schema = &log.schema;
    let mut sql = crate::support::postgres::sql::Sql::connect(&log.url).await;
    sql.run(&format!(
        "CREATE TABLE {schema}.totals (events bigint, bytes bigint); \
         INSERT INTO {schema}.totals VALUES (0, 0)"
    ))
    .await;
    for batch in 0..events.div_ceil(1000) {
        let count = (events - batch * 1000).min(1000);
        let event = |number: usize| {
            let event = Event::builder("Happened")
                .tag(number % 997)
                .data([7; BYTES])
                .build();
            event.unwrap()
        };
        store
            .append((0..count).map(event).collect::<Vec<_>>())
            .await
            .unwrap();
    }

    // Without this, the server's background work after the load would slow down only the first of
    // the two reads.
    sql.run(&format!("VACUUM ANALYZE {schema}.event")).await;
    sql.run("CHECKPOINT").await;
    let begun = Instant::now();
    let mut stream = store
        .query_stream(&Query::all(), ReadOptions::new())
        .await
        .unwrap();
    let mut streamed = 0;
    while let Some(event) = stream.next().await {
        streamed += event.unwrap().data().len();
    }
    let raw = begun.elapsed();
    let handler = Totals {
        schema: schema.clone(),
    };
    let model = PostgresReadModel::new(&log, "totals", handler).unwrap();
    let mut runner = ProjectionRunner::new(store.clone(), Query::all(), model);
    let begun = Instant::now();
    runner.catch_up().await.unwrap();
    let caught_up = begun.elapsed();
    println!(
        "{events} events: streamed in {raw:?}, caught up in {caught_up:?}, {:.2} of the rate",
        raw.as_secs_f64() / caught_up.as_secs_f64()
    );
    let row = sql
        .row(&format!("SELECT events, bytes FROM {schema}.totals"))
        .await;
    assert_eq!(row, [events.to_string(), streamed.to_string()]);
    assert_eq!(streamed, events * BYTES);
    sql.close().await;
    store.close().await;
}
