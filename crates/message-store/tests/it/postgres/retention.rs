//! Retention deletes in steps, so a stream too long for the time limit of a call can be shortened.

use std::time::{Duration, SystemTime};

use message_store::postgres::Config;
use message_store::{Category, ExpectedVersion, MessageStore as _, Position};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_database, fresh_store, message, stream_name, write};

const STEP: i64 = 2_048;

/// Counts the messages that each statement deletes.
const COUNT: &str = "\
    CREATE TABLE steps (messages bigint); \
    CREATE FUNCTION count_step() RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN INSERT INTO steps SELECT count(*) FROM gone; RETURN NULL; END'; \
    CREATE TRIGGER count_step AFTER DELETE ON message_store.messages \
        REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_step()";

async fn assert_steps(sql: &mut Sql, deleted: u64) {
    let sum = sql.number("SELECT sum(messages)::bigint FROM steps").await;
    assert_eq!(sum.unsigned_abs(), deleted);
    let largest = sql.number("SELECT max(messages) FROM steps").await;
    assert!(largest <= STEP, "{largest} messages in one step");
    sql.run("TRUNCATE steps").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_stream_is_shortened_in_steps() {
    let (database, store) = fresh_store().await;
    let (long, other) = (stream_name("a-1"), stream_name("b-1"));
    let batch = || (0..1_000).map(message).collect::<Vec<_>>();
    for _ in 0..8 {
        let written = store.write_batch(&long, batch(), ExpectedVersion::Any);
        written.await.unwrap();
    }
    for number in 0..3 {
        write(&store, &format!("a-{}", number + 2), number).await;
        write(&store, &format!("a-{}", number + 2), number).await;
    }
    write(&store, "b-1", 0).await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run(COUNT).await;
    let truncated = store.truncate_stream(&long, Position::new(3_000)).await;
    assert_eq!(truncated.unwrap(), 3_000);
    assert_steps(&mut sql, 3_000).await;

    // Only the messages before the first one of this time go.
    sql.run(
        "UPDATE message_store.messages SET time = now() AT TIME ZONE 'utc' + interval '1 hour' \
          WHERE stream_name = 'a-1' AND position >= 7500",
    )
    .await;
    let category = Category::new("a").unwrap();
    let soon = SystemTime::now() + Duration::from_secs(60);
    let expired = store.expire_messages(&category, soon).await.unwrap();
    assert_eq!(expired, 4_500 + 3);
    assert_steps(&mut sql, expired).await;
    let later = SystemTime::now() + Duration::from_secs(7_200);
    let expired = store.expire_messages(&category, later).await.unwrap();
    assert_eq!(expired, 499);
    for name in [long, stream_name("a-2"), other] {
        let last = store.get_last_stream_message(&name, None).await.unwrap();
        assert!(last.is_some(), "{name:?} keeps its last message");
    }
    store.close().await;
    sql.close().await;
}

/// Each deleted message takes a millisecond, as a large one does. A step of 2,048 exceeds the limit.
#[tokio::test(flavor = "multi_thread")]
async fn steps_too_large_for_the_time_limit_get_smaller() {
    let database = fresh_database().await;
    let mut config = Config::new(database.url());
    config.read_timeout = Duration::from_secs(1);
    let store = connect(config).await;
    let stream = stream_name("a-1");
    for _ in 0..5 {
        let batch = (0..1_000).map(message).collect();
        let written = store.write_batch(&stream, batch, ExpectedVersion::Any);
        written.await.unwrap();
    }
    let mut sql = Sql::connect(database.url()).await;
    sql.run(&COUNT.replace(
        "BEGIN ",
        "BEGIN PERFORM pg_sleep(count(*) / 1000.0) FROM gone; ",
    ))
    .await;
    let truncated = store.truncate_stream(&stream, Position::new(2_500)).await;
    assert_eq!(truncated.unwrap(), 2_500);
    assert_steps(&mut sql, 2_500).await;
    let category = Category::new("a").unwrap();
    let later = SystemTime::now() + Duration::from_secs(60);
    let expired = store.expire_messages(&category, later).await.unwrap();
    assert_eq!(expired, 2_499);
    assert_steps(&mut sql, 2_499).await;
    store.close().await;
    sql.close().await;
}
