//! Decisions on a log that they have decided on before, and the events that they see.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::on_each_backend;
use crate::support::backend::SharedStore;
use crate::support::events::{read, tag, tagged, whole_log};
use conformance_suite::at_once;
use dcb_conformance::checker::{self, Workload};
use dcb_core::{DecisionModel, Error, Event, EventStore, Projector, SequencedEvent};

on_each_backend! {
    logs_with_equal_boundaries_share_no_lane
    lanes_evicted_at_any_step_agree_with_the_replayed_log
    boundary_larger_than_the_cache_is_read_whole
    times_that_jump_are_seen_as_they_are_stored
    time_of_a_decision_is_as_exact_as_the_log
    decisions_on_many_boundaries_share_commits
}

/// Appends these events if there are some. Returns what the decision saw.
async fn decide<S, T>(store: &S, seats: Projector<T>, events: Vec<Event>) -> T
where
    S: EventStore + Clone + 'static,
    T: Clone + Send + Sync,
{
    let mut seen = None;
    let decide = |state| {
        seen = Some(state);
        Ok::<_, Error>(events.clone())
    };
    let decided = DecisionModel::new(seats).decide(store, decide).await;
    decided.unwrap();
    seen.unwrap()
}

/// Two tenants of one server, or two files of one folder, in one process.
async fn logs_with_equal_boundaries_share_no_lane<S: SharedStore>() {
    let logs = [S::fresh_log().await, S::fresh_log().await];
    let [left, right] = [S::connect(&logs[0]).await, S::connect(&logs[1]).await];
    let counted = || Projector::counter(tag("seat"));
    for seats in [
        || Projector::counter(tag("seat")),
        || Projector::counter(tag("seat")).keep("seats", 1),
    ] {
        let before = [
            left.count(&tag("seat")).await.unwrap(),
            right.count(&tag("seat")).await.unwrap(),
        ];
        for round in 0..100 {
            let taken = decide(&left, seats(), vec![tagged("seat"); 2]).await;
            assert_eq!(taken, before[0] + 2 * round);
            let taken = decide(&right, seats(), vec![tagged("seat")]).await;
            assert_eq!(taken, before[1] + round);
        }
    }
    left.clear().await.unwrap();
    assert_eq!(decide(&left, counted(), Vec::new()).await, 0);
    assert_eq!(decide(&right, counted(), Vec::new()).await, 200);
    left.close().await;
    right.close().await;
}

/// The cache has room for about two of the four lanes, and later for none. The callers decide beside
/// another store and beside a writer without lanes.
async fn lanes_evicted_at_any_step_agree_with_the_replayed_log<S: SharedStore>() {
    const CALLERS: usize = 10;
    let mut log = S::fresh_log().await;
    S::set_lane_cache_bytes(&mut log, 12_000);
    let stores = Arc::new([S::connect(&log).await, S::connect(&log).await]);
    let workload = Workload {
        seed: 17,
        decisions: 40,
    };
    let ledgers = at_once(&stores, CALLERS, |stores, number| async move {
        let store = &stores[number % 2];
        match number {
            9 => checker::work(store, workload, number as u64).await,
            _ => checker::decide(store, workload, number as u64).await,
        }
    });
    let ledgers = ledgers.await;
    let summary = checker::check(&whole_log(&stores[0]).await, &ledgers).unwrap();
    assert_eq!(summary.failed, 0, "{summary:?}");
    assert!(summary.acknowledged > 100, "{summary:?}");
    let evictions = stores.each_ref().map(|store| store.stats().lane_evictions);
    assert_ne!(evictions, [0, 0]);
    for store in &*stores {
        store.close().await;
    }
}

/// Each decision of a lone caller reads all pages. A small boundary beside it, or a kept state, stays warm.
async fn boundary_larger_than_the_cache_is_read_whole<S: SharedStore>() {
    const EVENTS: u64 = 3_000;
    let mut log = S::fresh_log().await;
    S::set_lane_cache_bytes(&mut log, 100_000);
    let store = S::connect(&log).await;
    let filled = vec![tagged("seat"); EVENTS as usize / 10];
    for _ in 0..10 {
        store.append(filled.clone()).await.unwrap();
    }
    decide(
        &store,
        Projector::counter(tag("other")),
        vec![tagged("other")],
    )
    .await;
    let small = store.stats();
    let mut reads = small.reads;
    let mut of_each = Vec::new();
    for round in 0..4 {
        let seats = Projector::counter(tag("seat"));
        let taken = decide(&store, seats, vec![tagged("seat")]).await;
        assert_eq!(taken, EVENTS + round);
        let stats = store.stats();
        of_each.push(stats.reads - reads);
        reads = stats.reads;
        assert_eq!(stats.lane_misses, small.lane_misses + round + 1);
        assert_eq!(stats.lane_evictions, round + 1);
        assert_eq!(stats.lane_bytes, small.lane_bytes);
    }
    assert!(of_each[0] > 1, "a boundary has several pages: {of_each:?}");
    assert!(
        of_each.iter().all(|reads| *reads == of_each[0]),
        "{of_each:?}"
    );

    decide(
        &store,
        Projector::counter(tag("other")),
        vec![tagged("other")],
    )
    .await;
    let kept = || Projector::counter(tag("seat")).keep("seats", 1);
    for round in 4..6 {
        let taken = decide(&store, kept(), vec![tagged("seat")]).await;
        assert_eq!(taken, EVENTS + round);
    }
    let stats = store.stats();
    assert_eq!(
        stats.lane_hits, 2,
        "the small boundary and the kept state are warm"
    );
    assert_eq!(stats.reads - reads, of_each[0], "the state is read once");
    store.close().await;
}

/// The times of the events, in the order of the log.
fn times() -> Projector<Vec<SystemTime>> {
    let time = |times: &mut Vec<_>, event: &SequencedEvent| times.push(event.recorded_at());
    Projector::new(tag("seat"), Vec::new(), time)
}

/// The clock of the log that the events come from was set back and forth.
async fn times_that_jump_are_seen_as_they_are_stored<S: SharedStore>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    let other = S::connect(&log).await;
    let mut stored = Vec::new();
    for hours in [500_000, 1, 4_000_000, 0, 400_000, 400_000] {
        let time = UNIX_EPOCH + Duration::from_secs(3600 * hours);
        let event = tagged("seat").to_builder().recorded_at(time);
        let event = event.build().unwrap();
        for seats in [times(), times().keep("times", 1)] {
            assert_eq!(decide(&store, seats, vec![event.clone()]).await, stored);
            stored.push(time);
        }
        other.append(event).await.unwrap();
        stored.push(time);
    }
    let read = read(&store, &tag("seat")).await;
    let read: Vec<_> = read.iter().map(SequencedEvent::recorded_at).collect();
    assert_eq!(read, stored);
    store.close().await;
    other.close().await;
}

/// A decision sees an event of an earlier one with the time of that decision, in whole microseconds.
async fn time_of_a_decision_is_as_exact_as_the_log<S: SharedStore>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    for _ in 0..10 {
        decide(&store, times(), vec![tagged("seat")]).await;
    }
    let seen = decide(&store, times(), Vec::new()).await;
    assert_eq!(seen.len(), 10);
    for time in seen {
        let since_epoch = time.duration_since(UNIX_EPOCH).unwrap();
        assert_eq!(since_epoch.subsec_nanos() % 1000, 0, "{since_epoch:?}");
    }
    store.close().await;
}

/// No two callers share a boundary.
async fn decisions_on_many_boundaries_share_commits<S: SharedStore>() {
    const CALLERS: usize = 100;
    const DECISIONS: u64 = 10;
    let log = S::fresh_log().await;
    let store = Arc::new(S::connect(&log).await);
    let decide_often = async || {
        at_once(&store, CALLERS, |store, number| async move {
            let name = format!("seat {number}");
            for _ in 0..DECISIONS {
                let seats = Projector::counter(tag(&name));
                decide(&*store, seats, vec![tagged(&name)]).await;
            }
        })
        .await;
        store.stats()
    };
    let cold = decide_often().await;
    let warm = decide_often().await;
    assert_eq!(warm.reads, cold.reads, "warm decisions read nothing");
    let commits = warm.commits - cold.commits;
    let decisions = CALLERS as u64 * DECISIONS;
    assert!(
        commits <= decisions / 4,
        "{commits} commits of {decisions} decisions"
    );
    store.close().await;
}
