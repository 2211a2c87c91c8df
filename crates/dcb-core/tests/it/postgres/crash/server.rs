//! The server is killed.

use std::time::Duration;

use conformance_suite::effort;
use dcb_conformance::checker::{self, Ledger, Workload};
use dcb_core::EventStore as _;
use dcb_core::postgres::PostgresStore;
use local_postgres::Durability;

use super::load::{Load, check, settle_unknown};
use crate::support::events::whole_log;
use crate::support::postgres::{connect, log_on, private_server};
use crate::support::wait::wait_until;

/// One of the two stores has so short a timeout that its appends fail before the server is back.
#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_appends_survive_a_killed_server() {
    let server = private_server(Durability::Durable, &[]).await;
    let log = log_on(server.url());
    let patient = connect(&log).await;
    let mut hasty = log.clone();
    hasty.write_timeout = Duration::from_millis(100);
    let hasty = connect(&hasty).await;
    let loads = [Load::start(&patient, 8), Load::start(&hasty, 4)];
    for round in 0..effort(3) {
        // The number differs each round, so that the server dies in different steps of a commit.
        loads[0].wait_for(5 + round as u64 * 7 % 20).await;
        server.kill_hard().unwrap();
        server.restart().await.unwrap();
    }
    loads[0].wait_for(10).await;
    let mut sent = Vec::new();
    for load in loads {
        sent.extend(load.stop().await);
    }
    let outcomes = check(&patient, &sent).await;
    println!("{outcomes:?}");
    settle_unknown(&patient, &mut sent).await;
    let settled = check(&patient, &sent).await;
    assert_eq!(
        settled.acknowledged,
        outcomes.acknowledged + outcomes.unknown
    );
    assert!(patient.stats().lost_connections > 0);
    patient.close().await;
    hasty.close().await;
}

/// Makes decisions, in lanes if the number is even, until the log has `enough` events. Returns the ledgers.
async fn decide(store: PostgresStore, number: u64, enough: u64) -> Vec<Ledger> {
    let mut ledgers = Vec::new();
    for seed in 0.. {
        let workload = Workload { seed, decisions: 1 };
        ledgers.push(match number % 2 {
            0 => checker::decide(&store, workload, number).await,
            _ => checker::work(&store, workload, number).await,
        });
        match store.head().await {
            Ok(Some(head)) if head.position.get() >= enough => break,
            _ => tokio::task::yield_now().await,
        }
    }
    ledgers
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_hold_across_a_killed_server() {
    let server = private_server(Durability::Durable, &[]).await;
    let store = connect(&log_on(server.url())).await;
    let kills = effort(8) as u64 / 4;
    let enough = 100 * (kills + 1);
    let deciding: Vec<_> = (0..10)
        .map(|number| tokio::spawn(decide(store.clone(), number, enough)))
        .collect();
    for kill in 1..=kills {
        wait_until(
            "the log has grown",
            async || matches!(store.head().await, Ok(Some(head)) if head.position.get() >= 100 * kill),
        )
        .await;
        server.kill_hard().unwrap();
        server.restart().await.unwrap();
    }
    let mut ledgers = Vec::new();
    for task in deciding {
        ledgers.extend(task.await.unwrap());
    }
    let summary = checker::check(&whole_log(&store).await, &ledgers).unwrap();
    assert!(summary.acknowledged > 0, "{summary:?}");
    store.close().await;
}
