//! PostgreSQL fails the commit of a transaction that notifies while its queue of notifications is full.
//! A notification is a hint, so it must not cost an append.

use std::time::Duration;

use conformance_suite::effort;
use dcb_core::{Append, Event, EventStore as _, Query, SubscribeOptions};
use local_postgres::FULL_NOTIFICATION_QUEUE;
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use super::{take, wait_for_a_listener};
use crate::support::events::tagged;
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on, server};

#[tokio::test(flavor = "multi_thread")]
async fn full_queue_fails_no_append() {
    let database = server().await.create_database("queue").await.unwrap();
    let log = log_on(database.url());
    connect(&log).await.close().await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run(FULL_NOTIFICATION_QUEUE).await;
    let (writer, reader) = (connect(&log).await, connect(&log).await);
    let never = SubscribeOptions::new().poll_interval(Duration::from_secs(3600));
    let mut events = reader.subscribe(Query::all(), None, never);
    let _listens = reader.notifications();
    wait_for_a_listener(&mut sql, &log.schema).await;

    // The first go by `dcb.append`, the others by an INSERT.
    for _ in 0..effort(10) {
        writer.append(tagged("a")).await.unwrap();
    }
    let with_id = Event::builder("Happened").id(Uuid::now_v7());
    writer.append(with_id.build().unwrap()).await.unwrap();
    let mut own = PgConnection::connect(database.url()).await.unwrap();
    let mut transaction = own.begin().await.unwrap();
    let append = Append::new(tagged("b"));
    writer.submit_in(&mut transaction, append).await.unwrap();
    transaction.commit().await.unwrap();
    writer.clear().await.unwrap();

    // The queue has room again, so the reader, which does not poll, hears of appends.
    sql.run("UPDATE full_queue.state SET usage = 0").await;
    writer.append(tagged("c")).await.unwrap();
    assert_eq!(take(&mut events, 1).await.len(), 1);
    writer.append(tagged("d")).await.unwrap();
    assert_eq!(take(&mut events, 1).await.len(), 1);
    writer.close().await;
    reader.close().await;
    sql.close().await;
}
