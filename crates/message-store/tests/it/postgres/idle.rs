//! Readers that wait share one look at the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use conformance_suite::effort;
use message_store::{
    ConsumerGroup, GlobalPosition, MessageRunner, MessageStore as _, Position, RunOptions,
    SubscribeOptions,
};
use tokio::time::{Instant, sleep};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{category, fresh_store, stream_name, wait_until};

const INTERVAL: Duration = Duration::from_millis(200);

/// Commits of all sessions of the database so far, also those that only read.
const COMMITS: &str = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";

/// Streams, categories, members of groups and runners.
#[tokio::test(flavor = "multi_thread")]
async fn idle_readers_cost_statements_independent_of_their_number() {
    let (database, store) = fresh_store().await;
    let number = effort(300);
    let seen = Arc::new(AtomicUsize::new(0));
    let mut readers = Vec::new();
    for reader in 0..number {
        let (store, seen) = (store.clone(), Arc::clone(&seen));
        readers.push(tokio::spawn(async move {
            let (kind, from) = (format!("kind{reader}"), GlobalPosition::START);
            let options = SubscribeOptions::new().poll_interval(INTERVAL);
            let mut messages = match reader % 4 {
                0 => {
                    let stream = stream_name(&format!("{kind}-1"));
                    store.subscribe_to_stream(stream, Position::START, options)
                }
                1 => store.subscribe_to_category(category(&kind), from, options),
                2 => {
                    let alone = ConsumerGroup::new(0, 1).unwrap();
                    store.subscribe_to_group(category(&kind), alone, from, options)
                }
                _ => {
                    let handle = move |_| {
                        seen.fetch_add(1, Ordering::Relaxed);
                        async { Ok(()) }
                    };
                    let runner = MessageRunner::new(store, "idle", category(&kind), handle);
                    let options = RunOptions::new().poll_interval(INTERVAL);
                    runner.unwrap().options(options).run().await.unwrap();
                    return;
                }
            };
            messages.next().await.unwrap();
            seen.fetch_add(1, Ordering::Relaxed);
        }));
    }
    let mut sql = Sql::connect(database.url()).await;
    wait_until("the readers share their looks", async || {
        let (begun, before) = (Instant::now(), sql.number(COMMITS).await);
        sleep(15 * INTERVAL).await;
        let commits = sql.number(COMMITS).await - before;
        let intervals = begun.elapsed().as_millis() / INTERVAL.as_millis();
        // A look in each interval, and what the listener, the pools and this test ask. Each of the readers
        // has begun: their first reads are more.
        store.stats().reads >= number as u64 && commits as u128 <= 3 * intervals
    })
    .await;
    // Clients of Message DB send no hint.
    for reader in 0..number {
        sql.write(&format!("kind{reader}-1")).await;
    }
    wait_until("each reader has its message", async || {
        seen.load(Ordering::Relaxed) == number
    })
    .await;
    readers.iter().for_each(tokio::task::JoinHandle::abort);
    store.close().await;
    sql.close().await;
}

/// The position of the first writer is drawn first and becomes visible last. The head has passed it then.
#[tokio::test(flavor = "multi_thread")]
async fn message_behind_the_head_reaches_its_reader() {
    let (database, store) = fresh_store().await;
    let options = SubscribeOptions::new().poll_interval(INTERVAL);
    let mut late = store.subscribe_to_category(category("late"), GlobalPosition::START, options);
    let reading = tokio::spawn(async move { late.next().await.map(|late| late.global_position()) });
    let (mut first, mut second) = (
        Sql::connect(database.url()).await,
        Sql::connect(database.url()).await,
    );
    first.run("BEGIN").await;
    first.write("late-1").await;
    second.write("other-1").await;
    // While the first is under way, the reader looks and reads many times.
    let before = store.stats().reads;
    wait_until("the reader has looked", async || {
        store.stats().reads >= before + 5
    })
    .await;
    first.run("COMMIT").await;
    let late = tokio::time::timeout(Duration::from_secs(60), reading).await;
    let position = late.expect("it arrives").unwrap().unwrap();
    assert_eq!(position, GlobalPosition::new(1));
    store.close().await;
    first.close().await;
    second.close().await;
}
