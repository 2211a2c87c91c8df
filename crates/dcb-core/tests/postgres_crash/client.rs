//! A client process dies.

use dcb_core::conformance::checker::{self, Ledger};
use dcb_core::conformance::effort;

use crate::support::events::whole_log;
use crate::support::tasks::Task;
use crate::support::workers::Worker;
use crate::support::{Log, connect, fresh_log};

/// How many callers a killed process has.
const CALLERS: u64 = 8;

/// Starts a process, kills it after it has said so many ledgers, and returns all that it said.
async fn told_before_death(log: &Log, seed: u64, enough: usize) -> Vec<Ledger> {
    let task = Task::DecideUntilKilled { seed };
    let mut worker = Worker::start(log, &task, (0..CALLERS).collect()).await;
    worker.begin().await;
    let mut lines = Vec::new();
    while lines.len() < enough {
        lines.push(worker.line().await.expect("it decides until it is killed"));
    }
    worker.kill().await;
    while let Some(line) = worker.line().await {
        lines.push(line);
    }
    // The last line may have been cut off by the death of its writer.
    lines
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_appends_survive_a_killed_client() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let mut ledgers = Vec::new();
    for round in 0..effort(20) {
        // Another seed for each process: what one decided is not decided again.
        let seed = round as u64 * 1_000_000;
        ledgers.extend(told_before_death(&log, seed, 5 + round * 7 % 20).await);
    }
    // What the last process was killed on may still be committed after this read.
    let summary = checker::check(&whole_log(&store).await, &ledgers).unwrap();
    assert!(summary.acknowledged > 0, "{summary:?}");
    store.close().await;
}
