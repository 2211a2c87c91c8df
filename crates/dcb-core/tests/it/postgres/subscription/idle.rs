//! Subscriptions that wait share one look at the end of the log.

use std::time::{Duration, Instant};

use conformance_suite::effort;
use dcb_core::{EventStore as _, SubscribeOptions};
use tokio::time::{sleep, timeout};

use super::{TIMEOUT, take};
use crate::support::events::{tag, tagged};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on, server};
use crate::support::wait::wait_until;

#[tokio::test(flavor = "multi_thread")]
async fn idle_subscriptions_cost_statements_independent_of_their_number() {
    const INTERVAL: Duration = Duration::from_millis(100);
    let database = server().await.create_database("idle").await.unwrap();
    let log = log_on(database.url());
    let store = connect(&log).await;
    let number = effort(300);
    let mut followers = Vec::new();
    for follower in 0..number {
        let query = tag(&format!("user:{follower}"));
        let options = SubscribeOptions::new().poll_interval(INTERVAL);
        let mut events = store.subscribe(query, None, options);
        followers.push(tokio::spawn(async move { take(&mut events, 1).await }));
    }
    wait_until("each subscription has read the log", async || {
        store.stats().reads >= number as u64
    })
    .await;
    // Not at once: after the first announcement each reads several times.
    wait_until("the subscriptions share their looks", async || {
        let (begun, before) = (Instant::now(), store.stats().reads);
        sleep(20 * INTERVAL).await;
        let reads = store.stats().reads - before;
        let intervals = begun.elapsed().as_millis() / INTERVAL.as_millis();
        u128::from(reads) <= 2 * intervals
    })
    .await;
    // An append that is not announced reaches its subscription all the same.
    let mut sql = Sql::connect(database.url()).await;
    sql.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
          WHERE datname = current_database() AND query LIKE '%advisory_lock_shared%' \
            AND pid <> pg_backend_pid()",
    )
    .await;
    let writer = connect(&log).await;
    for follower in 0..number {
        let append = writer.append(tagged(&format!("user:{follower}")));
        append.await.unwrap();
    }
    for follower in followers {
        let events = timeout(TIMEOUT, follower).await.expect("it ends").unwrap();
        assert_eq!(events.len(), 1);
    }
    writer.close().await;
    store.close().await;
    sql.close().await;
}
