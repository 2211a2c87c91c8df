//! Several stores on one log, all through the pooler.

use std::time::Duration;

use conformance_suite::effort;
use dcb_conformance::checker::{self, Workload};
use dcb_core::{EventStore as _, Query, SubscribeOptions};
use tokio::time::{sleep, timeout};

use super::PooledDatabase;
use crate::support::events::{tagged, whole_log};
use crate::support::postgres::proxy::{Cut, Proxy};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on};

/// Decisions hold although clients share sessions and the default isolation is not READ COMMITTED.
#[tokio::test(flavor = "multi_thread")]
async fn decisions_hold_under_stricter_default_isolation() {
    for isolation in ["repeatable read", "serializable"] {
        let pooled = PooledDatabase::start("isolation").await;
        let mut sql = Sql::connect(pooled.database.url()).await;
        sql.run(&format!(
            "ALTER DATABASE {} SET default_transaction_isolation = '{isolation}'",
            pooled.database.name()
        ))
        .await;
        let log = pooled.new_log();
        let mut deciding = Vec::new();
        let mut stores = Vec::new();
        for number in 0..12_u64 {
            if number < 3 {
                stores.push(connect(&log).await);
            }
            let store = stores[number as usize % 3].clone();
            let workload = Workload {
                seed: number,
                decisions: effort(120) / 12,
            };
            deciding.push(tokio::spawn(async move {
                match number % 2 {
                    0 => checker::decide(&store, workload, number).await,
                    _ => checker::work(&store, workload, number).await,
                }
            }));
        }
        let mut ledgers = Vec::new();
        for task in deciding {
            ledgers.push(task.await.unwrap());
        }
        let summary = checker::check(&whole_log(&stores[0]).await, &ledgers).unwrap();
        assert!(summary.acknowledged > 0, "{summary:?}");
        assert_eq!((summary.failed, summary.unknown), (0, 0), "{summary:?}");
        for store in stores {
            store.close().await;
        }
        sql.close().await;
    }
}

/// The connection breaks at any request of the transaction, including its COMMIT.
#[tokio::test(flavor = "multi_thread")]
async fn append_on_a_breaking_connection_is_stored_once() {
    let pooled = PooledDatabase::start("breaking").await;
    let proxy = Proxy::start(&pooled.url()).await;
    let store = connect(&log_on(proxy.url()).transaction_pooling()).await;
    let cuts = [Cut::BeforeRequest, Cut::AfterRequest, Cut::BeforeAnswer];
    let rounds = effort(60);
    for round in 0..rounds {
        let append = {
            let store = store.clone();
            tokio::spawn(async move { store.append(tagged("a")).await })
        };
        // The append takes four requests; the delay selects where among them the connection breaks.
        sleep(Duration::from_micros(round as u64 * 37 % 900)).await;
        proxy.cut(cuts[round % cuts.len()]);
        append
            .await
            .unwrap()
            .expect("the store finds out the outcome");
        proxy.pass();
    }
    let mut seen = Vec::new();
    for _ in 0..5 {
        // The planned break may still hit a read, so the test reads again.
        if let Ok(events) = store.query(&Query::all(), Default::default()).await {
            seen = events.events;
            break;
        }
    }
    assert_eq!(seen.len(), rounds);
    store.close().await;
}

/// LISTEN does not work through the pooler, so only polling finds the events of other processes.
#[tokio::test(flavor = "multi_thread")]
async fn polling_finds_events_of_another_process() {
    let pooled = PooledDatabase::start("polling").await;
    let log = pooled.new_log();
    let (writer, reader) = (connect(&log).await, connect(&log).await);
    let options = SubscribeOptions::new().poll_interval(Duration::from_millis(20));
    let mut events = reader.subscribe(Query::all(), None, options);
    for _ in 0..20 {
        let appended = writer.append(tagged("a")).await.unwrap();
        let event = timeout(Duration::from_secs(20), events.next()).await;
        let event = event
            .expect("the event arrives")
            .expect("the subscription goes on")
            .unwrap();
        assert_eq!(event.position(), appended.first());
    }
    writer.close().await;
    reader.close().await;
}
