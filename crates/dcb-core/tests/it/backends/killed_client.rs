//! A client process is killed.

use conformance_suite::effort;
use dcb_conformance::checker::{self, Ledger};

use super::on_each_backend;
use crate::support::backend::SharedStore;
use crate::support::events::whole_log;
use crate::support::tasks::Task;
use crate::support::workers::Worker;

on_each_backend! {
    acknowledged_appends_survive_a_killed_client
}

/// The number of callers in the killed process.
const CALLERS: u64 = 8;

/// Starts a process, kills it after it has printed `enough` ledgers, and returns all it printed.
async fn ledgers_before_death<S: SharedStore>(
    log: &S::Log,
    seed: u64,
    enough: usize,
) -> Vec<Ledger> {
    let task = Task::DecideUntilKilled { seed };
    let mut worker = Worker::start::<S>(log, &task, (0..CALLERS).collect()).await;
    worker.begin().await;
    let mut lines = Vec::new();
    while lines.len() < enough {
        lines.push(
            worker
                .line()
                .await
                .expect("the worker prints ledgers until it is killed"),
        );
    }
    worker.kill().await;
    while let Some(line) = worker.line().await {
        lines.push(line);
    }
    // The kill may have cut off the last line.
    lines
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

async fn acknowledged_appends_survive_a_killed_client<S: SharedStore>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    let mut ledgers = Vec::new();
    for round in 0..effort(8) {
        // A different seed for each process, so that no process repeats decisions of another.
        let seed = round as u64 * 1_000_000;
        ledgers.extend(ledgers_before_death::<S>(&log, seed, 5 + round * 7 % 20).await);
    }
    // The last append of the killed process may commit after this read. The checker allows that.
    let summary = checker::check(&whole_log(&store).await, &ledgers).unwrap();
    assert!(summary.acknowledged > 0, "{summary:?}");
    store.close().await;
}
