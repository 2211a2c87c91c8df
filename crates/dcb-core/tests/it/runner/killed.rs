//! Processes that run a projection, and servers, are killed with SIGKILL.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use conformance_suite::effort;
use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{EventStore as _, ProjectionRunner, SubscribeOptions};
use local_postgres::Durability;
use tokio::process::Command;
use tokio::time::sleep;

use super::tally::{Tally, expected};
use crate::support::events::{tag, tagged};
use crate::support::postgres::{connect, fresh_log, log_on, private_server};

const URL: &str = "REGISTRAR_TEST_RUNNER_URL";
const SCHEMA: &str = "REGISTRAR_TEST_RUNNER_SCHEMA";

/// The body of a worker process: runs the projection until the process is killed. Does nothing if no
/// log is set.
pub(crate) fn serve() {
    let (Ok(url), Ok(schema)) = (std::env::var(URL), std::env::var(SCHEMA)) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the runtime starts");
    runtime.block_on(async {
        let log = Config::new(url).schema(schema);
        let store = PostgresStore::connect(log.clone())
            .await
            .expect("the store connects");
        let mut runner = ProjectionRunner::new(store, tag("a"), Tally::new(&log).model(&log))
            .options(SubscribeOptions::new().batch_size(3));
        let ended = runner.run().await;
        let _ = writeln!(std::io::stderr(), "the runner ended: {ended:?}");
    });
}

async fn append_some(store: &PostgresStore) {
    for _ in 0..20 {
        store.append(vec![tagged("a"), tagged("b")]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runner_in_killed_processes_handles_each_event_once() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    Tally::install(&log).await;
    for round in 0..effort(8) as u64 {
        let mut process =
            Command::new(std::env::current_exe().expect("the path of this executable"))
                .args(["worker", "--exact", "--ignored", "--nocapture"])
                .env(URL, &log.url)
                .env(SCHEMA, &log.schema)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .kill_on_drop(true)
                .spawn()
                .expect("this executable can run");
        append_some(&store).await;
        // The delay differs each round, so that the process dies in different steps.
        sleep(Duration::from_millis(30 + round * 17 % 60)).await;
        process.kill().await.expect("the process can be killed");
    }
    let mut runner = ProjectionRunner::new(store.clone(), tag("a"), Tally::new(&log).model(&log));
    runner.catch_up().await.unwrap();
    assert_eq!(Tally::seen(&log).await, expected(&store).await);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runner_across_killed_servers_handles_each_event_once() {
    let server = private_server(Durability::Durable, &[]).await;
    let log = log_on(server.url());
    let store = connect(&log).await;
    Tally::install(&log).await;
    let mut runner = ProjectionRunner::new(store.clone(), tag("a"), Tally::new(&log).model(&log))
        .options(SubscribeOptions::new().batch_size(3));
    let running = tokio::spawn(async move { runner.run().await });
    for _ in 0..effort(2) {
        append_some(&store).await;
        server.kill_hard().unwrap();
        server.restart().await.unwrap();
    }
    assert!(!running.is_finished());
    running.abort();
    let mut runner = ProjectionRunner::new(store.clone(), tag("a"), Tally::new(&log).model(&log));
    runner.catch_up().await.unwrap();
    assert_eq!(Tally::seen(&log).await, expected(&store).await);
    store.close().await;
}
