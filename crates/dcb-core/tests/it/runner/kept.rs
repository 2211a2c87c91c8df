//! Read models in PostgreSQL: resuming, failing handlers, concurrent runners, rebuilding.

use std::time::Duration;

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{
    Bookmark, Error, EventStore as _, ProjectionRunner, Query, ReadModel as _, SubscribeOptions,
};
use tokio::time::timeout;

use super::tally::{Tally, expected};
use crate::support::events::{at, tag, tagged};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log};
use crate::support::wait::wait_until;

/// A log with `a` at odd positions and `b` at even positions.
async fn log_of(pairs: usize) -> (Config, PostgresStore) {
    let log = fresh_log().await;
    let store = connect(&log).await;
    Tally::install(&log).await;
    for _ in 0..pairs {
        store.append(vec![tagged("a"), tagged("b")]).await.unwrap();
    }
    (log, store)
}

fn small() -> SubscribeOptions {
    SubscribeOptions::new().batch_size(4)
}

#[tokio::test(flavor = "multi_thread")]
async fn runner_resumes_at_its_checkpoint() {
    let (log, store) = log_of(10).await;
    let run = async || {
        let model = Tally::new(&log).model(&log);
        let mut runner = ProjectionRunner::new(store.clone(), tag("a"), model).options(small());
        let progress = runner.progress();
        let state_at = runner.catch_up().await.unwrap();
        assert_eq!((progress.position(), progress.head()), (state_at, state_at));
        assert_eq!(progress.lag(), 0);
        state_at
    };
    assert_eq!(run().await, Some(at(20)));
    assert_eq!(Tally::seen(&log).await, expected(&store).await);
    store.append(tagged("a")).await.unwrap();
    // An event that does not match moves only the checkpoint.
    store.append(tagged("b")).await.unwrap();
    assert_eq!(run().await, Some(at(22)));
    assert_eq!(run().await, Some(at(22)));
    assert_eq!(Tally::seen(&log).await, expected(&store).await);
    let mut model = Tally::new(&log).model(&log);
    let checkpoint = model.checkpoint().await.unwrap();
    assert_eq!(Bookmark::position_of(checkpoint), Some(at(22)));
    store.close().await;
}

/// Resetting a read model by hand deletes its checkpoint, perhaps while a runner is active.
#[tokio::test(flavor = "multi_thread")]
async fn deleted_checkpoint_restarts_from_the_beginning() {
    let (log, store) = log_of(10).await;
    let model = Tally::new(&log).model(&log);
    let mut runner = ProjectionRunner::new(store.clone(), tag("a"), model).options(small());
    runner.catch_up().await.unwrap();
    let mut sql = Sql::connect(&log.url).await;
    let schema = &log.schema;
    sql.run(&format!(
        "DELETE FROM {schema}.seen; DELETE FROM {schema}.checkpoint"
    ))
    .await;
    sql.close().await;
    for _ in 0..2 {
        let caught_up = timeout(Duration::from_secs(10), runner.catch_up()).await;
        assert_eq!(caught_up.expect("catch_up ends").unwrap(), Some(at(20)));
        assert_eq!(Tally::seen(&log).await, expected(&store).await);
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn run_follows_the_log_until_dropped() {
    let (log, store) = log_of(3).await;
    let mut runner = ProjectionRunner::new(store.clone(), tag("a"), Tally::new(&log).model(&log));
    let progress = runner.progress();
    let running = tokio::spawn(async move { runner.run().await });
    for _ in 0..20 {
        let appended = store.append(vec![tagged("b"), tagged("a")]).await.unwrap();
        wait_until("the read model has the event", async || {
            progress.position() >= Some(appended.last())
        })
        .await;
        assert_eq!(Tally::seen(&log).await, expected(&store).await);
    }
    running.abort();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_handler_writes_nothing_and_ends_the_run() {
    let (log, store) = log_of(10).await;
    let mut tally = Tally::new(&log);
    tally.fails_at = Some(11);
    let mut runner =
        ProjectionRunner::new(store.clone(), tag("a"), tally.model(&log)).options(small());
    let failed = runner.catch_up().await.unwrap_err();
    assert!(
        matches!(&failed, Error::Handler { name, source } if name == "tally" && source.to_string() == "handler failed"),
        "{failed:?}"
    );
    // Batches of four: 1 3 5 7 are committed, 9 11 13 15 are not.
    assert_eq!(Tally::seen(&log).await, [1, 3, 5, 7]);
    runner.catch_up().await.unwrap();
    assert_eq!(Tally::seen(&log).await, expected(&store).await);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_transaction_is_retried() {
    let (log, store) = log_of(10).await;
    let mut tally = Tally::new(&log);
    tally.refusals = 3;
    let mut runner =
        ProjectionRunner::new(store.clone(), tag("a"), tally.model(&log)).options(small());
    runner.catch_up().await.unwrap();
    assert_eq!(Tally::seen(&log).await, expected(&store).await);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_runners_handle_each_event_once() {
    let (log, store) = log_of(100).await;
    let runners: Vec<_> = (0..4)
        .map(|_| {
            let model = Tally::new(&log).model(&log);
            let mut runner = ProjectionRunner::new(store.clone(), tag("a"), model).options(small());
            tokio::spawn(async move { runner.catch_up().await })
        })
        .collect();
    for _ in 0..50 {
        store.append(vec![tagged("a"), tagged("b")]).await.unwrap();
    }
    for runner in runners {
        runner.await.unwrap().unwrap();
    }
    let mut last = ProjectionRunner::new(store.clone(), tag("a"), Tally::new(&log).model(&log));
    last.catch_up().await.unwrap();
    assert_eq!(Tally::seen(&log).await, expected(&store).await);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rebuild_restarts_the_state_beside_another_runner() {
    let (log, store) = log_of(50).await;
    let model = || Tally::new(&log).model(&log);
    let mut follower = ProjectionRunner::new(store.clone(), tag("a"), model()).options(small());
    let following = tokio::spawn(async move { follower.run().await });
    let mut rebuilder = ProjectionRunner::new(store.clone(), tag("a"), model()).options(small());
    for _ in 0..5 {
        store.append(tagged("a")).await.unwrap();
        rebuilder.rebuild().await.unwrap();
        assert_eq!(Tally::seen(&log).await, expected(&store).await);
    }
    following.abort();
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_run_keeps_state_and_checkpoint_consistent() {
    let (log, store) = log_of(60).await;
    let mut runner = ProjectionRunner::new(store.clone(), tag("a"), Tally::new(&log).model(&log))
        .options(small());
    for micros in (0..).step_by(150) {
        let run = timeout(Duration::from_micros(micros), runner.catch_up());
        if let Ok(done) = run.await {
            done.unwrap();
            break;
        }
    }
    assert_eq!(Tally::seen(&log).await, expected(&store).await);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shortened_log_ends_the_run_with_an_error() {
    let (log, store) = log_of(5).await;
    let mut runner = ProjectionRunner::new(store.clone(), tag("a"), Tally::new(&log).model(&log));
    runner.catch_up().await.unwrap();
    let mut sql = Sql::connect(&log.url).await;
    let schema = &log.schema;
    sql.run(&format!(
        "DELETE FROM {schema}.event_tag WHERE position > 6; \
         DELETE FROM {schema}.event WHERE position > 6"
    ))
    .await;
    let ended = runner.run().await.unwrap_err();
    assert!(
        matches!(ended, Error::AfterBeyondHead { after, head } if (after, head) == (at(10), Some(at(6)))),
        "{ended:?}"
    );
    runner.rebuild().await.unwrap();
    assert_eq!(Tally::seen(&log).await, expected(&store).await);
    sql.close().await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runner_accepts_query_all() {
    let (log, store) = log_of(3).await;
    let mut runner =
        ProjectionRunner::new(store.clone(), Query::all(), Tally::new(&log).model(&log));
    runner.catch_up().await.unwrap();
    assert_eq!(Tally::seen(&log).await, [1, 2, 3, 4, 5, 6]);
    store.close().await;
}
