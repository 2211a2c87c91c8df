//! What several processes do to one log, each through the pooler.

use std::time::Duration;

use dcb_core::conformance::checker::{self, Workload};
use dcb_core::conformance::effort;
use dcb_core::{EventStore as _, Query, SubscribeOptions};
use tokio::time::{sleep, timeout};

use crate::Place;
use crate::support::events::{tagged, whole_log};
use crate::support::proxy::{Cut, Proxy};
use crate::support::sql::Sql;
use crate::support::{connect, log_on};

/// Decisions hold although sessions are shared and the database is not READ COMMITTED by default.
#[tokio::test(flavor = "multi_thread")]
async fn decisions_hold_whatever_the_default_is() {
    for isolation in ["repeatable read", "serializable"] {
        let place = Place::start("isolation").await;
        let mut sql = Sql::connect(place.database.url()).await;
        sql.run(&format!(
            "ALTER DATABASE {} SET default_transaction_isolation = '{isolation}'",
            place.database.name()
        ))
        .await;
        let log = place.log();
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
                checker::work(&store, workload, number).await
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

/// Connections that break anywhere in a transaction, its COMMIT included.
#[tokio::test(flavor = "multi_thread")]
async fn an_append_whose_connection_breaks_is_stored_once() {
    let place = Place::start("breaking").await;
    let proxy = Proxy::start(&place.url()).await;
    let store = connect(&log_on(proxy.url()).transaction_pooling()).await;
    let cuts = [Cut::BeforeRequest, Cut::AfterRequest, Cut::BeforeAnswer];
    let rounds = effort(60);
    for round in 0..rounds {
        let append = {
            let store = store.clone();
            tokio::spawn(async move { store.append(tagged("a")).await })
        };
        // Some time into its four requests.
        sleep(Duration::from_micros(round as u64 * 37 % 900)).await;
        proxy.cut(cuts[round % cuts.len()]);
        append
            .await
            .unwrap()
            .expect("what became of it is found out");
        proxy.pass();
    }
    let mut seen = Vec::new();
    for _ in 0..5 {
        // The cut may still hit a read, which is made once more.
        if let Ok(events) = store.query(&Query::all(), Default::default()).await {
            seen = events.events;
            break;
        }
    }
    assert_eq!(seen.len(), rounds);
    store.close().await;
}

/// Nobody can LISTEN through the pooler: polling brings what others append.
#[tokio::test(flavor = "multi_thread")]
async fn another_process_is_found_by_polling() {
    let place = Place::start("polling").await;
    let log = place.log();
    let (writer, reader) = (connect(&log).await, connect(&log).await);
    let options = SubscribeOptions::new().poll_interval(Duration::from_millis(20));
    let mut events = reader.subscribe(Query::all(), None, options);
    for _ in 0..20 {
        let appended = writer.append(tagged("a")).await.unwrap();
        let event = timeout(Duration::from_secs(20), events.next()).await;
        let event = event.expect("it comes").expect("it goes on").unwrap();
        assert_eq!(event.position(), appended.first());
    }
    writer.close().await;
    reader.close().await;
}
