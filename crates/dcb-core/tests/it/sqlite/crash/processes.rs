//! Processes on the same log are killed.

use std::ops::ControlFlow;

use conformance_suite::effort;
use dcb_conformance::checker::{self, Ledger};
use dcb_core::EventStore as _;
use dcb_core::sqlite::{SqliteStore, check_keys};

use crate::support::events::{head, tag, tagged, whole_log};
use crate::support::sqlite::{connect, fresh_log};
use crate::support::tasks::{SHARED, Task, large, perform};
use crate::support::workers::Worker;

/// The kill releases the lock of the process and discards its uncommitted events.
#[tokio::test(flavor = "multi_thread")]
async fn other_processes_continue_after_a_kill() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let mut ledgers: Vec<Ledger> = Vec::new();
    for round in 0..effort(5) as u64 {
        let task = Task::DecideUntilKilled {
            seed: 1_000_000 * (2 * round + 1),
        };
        let mut doomed = Worker::start::<SqliteStore>(&log, &task, (0..8).collect()).await;
        doomed.begin().await;
        let here = {
            let store = store.clone();
            let seed = 1_000_000 * (2 * round + 2);
            let task = Task::Decide {
                seed,
                decisions: 40,
            };
            tokio::spawn(async move { perform(&store, &task, &[0, 1, 2, 3]).await })
        };
        let mut lines = Vec::new();
        while lines.len() < 10 {
            lines.push(
                doomed
                    .line()
                    .await
                    .expect("the worker prints ledgers until it is killed"),
            );
        }
        doomed.kill().await;
        while let Some(line) = doomed.line().await {
            lines.push(line);
        }
        // The kill may have cut off the last line.
        ledgers.extend(
            lines
                .iter()
                .filter_map(|line| serde_json::from_str::<Ledger>(line).ok()),
        );
        ledgers.extend(here.await.unwrap().ledgers);
    }
    let summary = checker::check(&whole_log(&store).await, &ledgers).unwrap();
    assert!(summary.acknowledged > 0, "{summary:?}");
    store.close().await;
}

/// The next process to open the file recovers the write-ahead log.
#[tokio::test(flavor = "multi_thread")]
async fn log_is_recovered_after_all_processes_died() {
    let log = fresh_log().await;
    let mut acknowledged = 0;
    for round in 0..effort(5) as u64 {
        let task = Task::DecideUntilKilled {
            seed: round * 1_000_000,
        };
        let mut doomed = Worker::start::<SqliteStore>(&log, &task, (0..4).collect()).await;
        doomed.begin().await;
        for _ in 0..5 {
            doomed
                .line()
                .await
                .expect("the worker prints ledgers until it is killed");
        }
        doomed.kill().await;
        let store = connect(&log).await;
        let found = head(&store).await;
        assert!(found >= acknowledged, "{found} after {acknowledged}");
        acknowledged = store.append(tagged("after")).await.unwrap().first().get();
        assert_eq!(acknowledged, found + 1);
        store.close().await;
    }
}

/// Large events fill the write-ahead log after 160 appends, so checkpoints of both processes run beside the
/// appends.
#[tokio::test(flavor = "multi_thread")]
async fn process_killed_in_a_checkpoint_loses_nothing() {
    let log = fresh_log().await;
    let mut acknowledged = 0;
    for round in 0..effort(4) as u64 {
        let here = connect(&log).await;
        let callers = (0..2).collect();
        let mut doomed = Worker::start::<SqliteStore>(&log, &Task::FillUntilKilled, callers).await;
        doomed.begin().await;
        for _ in 0..90 + 7 * round {
            let line = doomed.line().await.expect("the worker prints positions");
            let appended = here.append(large()).await.unwrap().first().get();
            acknowledged = appended.max(line.parse().unwrap());
        }
        doomed.kill().await;
        here.close().await;
        let store = connect(&log).await;
        let found = head(&store).await;
        assert!(found >= acknowledged, "{found} after {acknowledged}");
        assert_eq!(store.count(&tag(SHARED)).await.unwrap(), found);
        let keys = check_keys(&log, |_| ControlFlow::Continue(()));
        assert!(keys.unwrap().is_clean());
        store.close().await;
    }
}
