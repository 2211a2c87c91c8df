//! Processes that relay are killed with SIGKILL, at any step.

use std::process::Stdio;
use std::time::Duration;

use conformance_suite::{Random, effort};
use tokio::process::Command;
use tokio::time::sleep;

use crate::support::Backend::{Postgres, Sqlite};
use crate::support::{
    Backend, Places, append, check, drawn, open, other, relayed, runner, wait_until,
};

const EVENTS: &str = "REGISTRAR_TEST_RELAY_EVENTS";
const MESSAGES: &str = "REGISTRAR_TEST_RELAY_MESSAGES";

/// The body of a worker process: relays until the process is killed.
pub(crate) fn serve() {
    let (Ok(events), Ok(messages)) = (std::env::var(EVENTS), std::env::var(MESSAGES)) else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().expect("the runtime starts");
    runtime.block_on(async {
        let (events, messages) = open(&events, &messages).await;
        let ended = runner(&events, &messages).run().await;
        eprintln!("the relay ended: {ended:?}");
    });
}

async fn each_event_is_one_message(events: Backend, messages: Backend, seed: u64) {
    let places = Places::new(events, messages).await;
    let (events, messages) = places.open().await;
    let mut random = Random::new(seed);
    println!("seed {seed}");
    for _ in 0..effort(5) {
        let mut batch = Vec::new();
        for _ in 0..150 {
            batch.extend([drawn(random.below(3)), other()]);
        }
        append(&events, batch).await;
        let before = relayed(&messages).await.len();
        let mut process = Command::new(std::env::current_exe().expect("this executable"))
            .args(["worker", "--exact", "--ignored", "--nocapture"])
            .env(EVENTS, &places.events)
            .env(MESSAGES, &places.messages)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("this executable can run");
        wait_until("the process relays", async || {
            relayed(&messages).await.len() > before
        })
        .await;
        sleep(Duration::from_micros(random.below(40_000))).await;
        process.kill().await.expect("the process can be killed");
    }
    let killed = relayed(&messages).await.len();
    runner(&events, &messages)
        .catch_up()
        .await
        .expect("the rest is relayed");
    println!("{killed} messages by processes that were killed");
    check(&events, &messages).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_sqlite_to_sqlite() {
    each_event_is_one_message(Sqlite, Sqlite, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_sqlite_to_postgres() {
    each_event_is_one_message(Sqlite, Postgres, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_postgres_to_sqlite() {
    each_event_is_one_message(Postgres, Sqlite, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_postgres_to_postgres() {
    each_event_is_one_message(Postgres, Postgres, 4).await;
}
