//! Decisions on a state that was read before the restore.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dcb_core::{
    Append, Command, CommandExecutor, DecisionModel, Error, Event, EventStore as _, Projector,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::block_in_place;
use uuid::Uuid;

use super::{LOST, Log, assert_replaced, numbered, on_each_backend};
use crate::support::events::{head, tag, unless};
use crate::support::wait::wait_until;

on_each_backend! {
    projected_state_is_refused
    decision_from_two_reads_is_refused
    decision_under_way_is_refused
    decision_on_what_a_lane_knows_is_refused
    warm_decision_reads_the_restored_log
    warm_decision_reads_a_cleared_log
    kept_state_of_a_lost_log_is_not_used
    command_is_refused
}

fn counted() -> Projector<u64> {
    Projector::counter(tag("a"))
}

async fn projected_state_is_refused(log: Log) {
    log.fill().await;
    let whole = log.store.project(&counted()).await.unwrap();
    let last_only = Projector::exists(tag("a")).last_only();
    let last = log.store.project(&last_only).await.unwrap();
    log.restore().await;
    for condition in [whole.condition, last.condition] {
        let refused = log.store.append_if(numbered("b", 1), condition).await;
        assert_replaced(refused, LOST);
    }
    log.close().await;
}

async fn decision_from_two_reads_is_refused(log: Log) {
    log.fill().await;
    let absent = || Projector::counter(tag("absent"));
    let mut read = (
        log.store.project(&absent()).await.unwrap(),
        log.store.project(&absent()).await.unwrap(),
    );
    log.restore().await;
    let model = DecisionModel::new((absent(), absent()));
    for events in [vec![numbered("b", 1)], Vec::new()] {
        let decide = |_: &u64, _: &u64| Ok::<_, Error>(events.clone());
        let decided = model.decide_from(&log.store, &mut read, decide).await;
        assert_replaced(decided, LOST);
    }
    assert_eq!(head(&log.store).await, 12, "nothing was written");
    log.close().await;
}

/// The decision is not made again behind the caller's back.
async fn decision_under_way_is_refused(log: Log) {
    log.fill().await;
    let calls = AtomicU32::new(0);
    let model = DecisionModel::new(Projector::counter(tag("absent"))).and(counted());
    let decided = model
        .decide(&log.store, |_, seen| {
            if calls.fetch_add(1, Ordering::Relaxed) == 0 {
                block_in_place(|| Handle::current().block_on(log.restore()));
            }
            Ok::<_, Error>(vec![numbered("b", seen)])
        })
        .await;
    assert_replaced(decided, LOST);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    let again = model
        .decide(&log.store, |_, seen| {
            Ok::<_, Error>(vec![numbered("b", seen)])
        })
        .await
        .unwrap();
    assert_eq!(again.appended.unwrap().first().get(), 13);
    log.close().await;
}

/// The second member of a lane decides without a read, on what the first has appended.
async fn decision_on_what_a_lane_knows_is_refused(log: Log) {
    let log = Arc::new(log);
    log.fill().await;
    let lanes = log.store.lanes().expect("the store has lanes").clone();
    let (entered, has_entered) = oneshot::channel();
    let (go_on, gone_on) = oneshot::channel::<()>();
    let first = {
        let log = Arc::clone(&log);
        let mut steps = Some((entered, gone_on));
        tokio::spawn(async move {
            let decide = |seen| {
                if let Some((entered, gone_on)) = steps.take() {
                    entered.send(()).unwrap();
                    block_in_place(|| Handle::current().block_on(gone_on)).unwrap();
                }
                Ok::<_, Error>(vec![numbered("a", seen)])
            };
            DecisionModel::new(counted())
                .decide(&log.store, decide)
                .await
        })
    };
    has_entered.await.unwrap();
    let second = {
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            let decide = |seen| {
                block_in_place(|| {
                    Handle::current().block_on(async {
                        wait_until("the first is committed", async || {
                            head(&log.store).await > LOST
                        })
                        .await;
                        log.restore().await;
                    });
                });
                Ok::<_, Error>(vec![numbered("a", seen)])
            };
            DecisionModel::new(counted())
                .decide(&log.store, decide)
                .await
        })
    };
    // Gives the second one the time to enter the lane.
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(lanes.len(), 1);
    go_on.send(()).unwrap();
    let first = first.await.unwrap().unwrap();
    assert_eq!(first.appended.unwrap().first().get(), LOST + 1);
    let second = second.await.unwrap();
    assert!(
        matches!(second, Err(Error::PastReplaced { .. })),
        "{second:?}"
    );
    assert_eq!(head(&log.store).await, 12, "nothing was written");
    Arc::into_inner(log).unwrap().close().await;
}

/// The lane knows lost events, since before the call. So the caller gets a decision on the new log.
async fn warm_decision_reads_the_restored_log(log: Log) {
    let model = DecisionModel::new(counted()).max_attempts(1);
    let count = async || {
        let mut counted = 0;
        let decide = |seen| {
            counted = seen;
            Ok::<_, Error>(Vec::new())
        };
        let decided = model.decide(&log.store, decide).await.unwrap();
        (counted, decided.attempts)
    };
    log.fill().await;
    assert_eq!(count().await, (10, 1));
    log.restore().await;
    assert_eq!(count().await, (12, 1));
    let append = async || {
        let decide = |seen| Ok::<_, Error>(vec![numbered("a", seen)]);
        let decided = model.decide(&log.store, decide).await.unwrap();
        (decided.appended.unwrap().first().get(), decided.attempts)
    };
    assert_eq!(append().await, (13, 1));
    // The log is restored again, and is longer than the lane knows it.
    log.restore().await;
    log.grow().await;
    assert_eq!(append().await, (19, 1));
    assert_eq!(count().await, (19, 1));
    log.close().await;
}

/// A state replaces more events than the other tests have.
async fn kept_state_of_a_lost_log_is_not_used(log: Log) {
    let model = DecisionModel::new(counted().keep("count", 1)).max_attempts(1);
    let decide = async |events: Vec<Event>| {
        let mut counted = 0;
        let decide = |seen| {
            counted = seen;
            Ok::<_, Error>(events.clone())
        };
        model.decide(&log.store, decide).await.unwrap();
        counted
    };
    let many = |count| {
        (1..=count)
            .map(|number| numbered("a", number))
            .collect::<Vec<_>>()
    };
    log.store.append(many(100)).await.unwrap();
    assert_eq!(decide(vec![numbered("a", 101)]).await, 100);
    assert_eq!(decide(Vec::new()).await, 101);
    // The log is shorter than the state knows it.
    log.other.clear().await.unwrap();
    log.other.append(many(70)).await.unwrap();
    assert_eq!(decide(vec![numbered("a", 71)]).await, 70);
    // The log has another event where the state ends.
    log.other.clear().await.unwrap();
    log.other.append(many(200)).await.unwrap();
    assert_eq!(decide(Vec::new()).await, 200);
    assert_eq!(decide(vec![numbered("a", 201)]).await, 200);
    log.store.clear().await.unwrap();
    assert_eq!(decide(Vec::new()).await, 0);
    log.close().await;
}

/// The new events have the positions and the ids of the old ones, so only `clear` can tell.
async fn warm_decision_reads_a_cleared_log(log: Log) {
    let model = DecisionModel::new(counted());
    let event = |tag: &str, id| numbered(tag, id).with_id(Uuid::from_u128(id.into()));
    let count = async || {
        let mut counted = 0;
        let decide = |seen| {
            counted = seen;
            Ok::<_, Error>(Vec::new())
        };
        model.decide(&log.store, decide).await.unwrap();
        counted
    };
    log.store
        .append([event("a", 1), event("a", 2)])
        .await
        .unwrap();
    assert_eq!(count().await, 2);
    log.store.clear().await.unwrap();
    log.store
        .append([event("b", 1), event("a", 2)])
        .await
        .unwrap();
    assert_eq!(count().await, 1);
    log.close().await;
}

async fn command_is_refused(log: Log) {
    log.fill().await;
    let projected = log.store.project(&counted()).await.unwrap();
    log.restore().await;
    let command = Command::builder("Add").build().unwrap();
    let executed = CommandExecutor::new(log.store.clone())
        .execute(command, async |_| {
            let event: Event = numbered("b", projected.state);
            let condition = projected.condition.clone();
            Ok::<_, Error>(
                Append::new(event)
                    .condition(condition)
                    .condition(unless("c")),
            )
        })
        .await;
    assert_replaced(executed, LOST);
    assert!(log.store.commands(None, 10).await.unwrap().is_empty());
    log.close().await;
}
