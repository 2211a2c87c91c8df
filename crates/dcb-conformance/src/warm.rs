//! Decisions on what a lane knows from earlier ones. Nothing else than a new event changes what they see,
//! and each new event does.

use std::sync::Arc;

use conformance_suite::at_once;
use dcb_core::{DecisionModel, Error, Event, EventStore, Projector};
use uuid::Uuid;

use super::CALLERS;
use super::checker::{self, Workload};
use super::fixture::{Refusal, log, tag, tagged};

fn seats_taken() -> DecisionModel<Projector<u64>> {
    // An attempt on what was known before the call does not count.
    DecisionModel::new(Projector::counter(tag("seat"))).max_attempts(1)
}

/// Takes a seat. Returns how many were taken before.
async fn take<S: EventStore + Clone + 'static>(store: &S) -> u64 {
    let mut before = 0;
    let decide = |taken| {
        before = taken;
        Ok::<_, Error>(tagged(&["seat"]))
    };
    let decided = seats_taken().decide(store, decide).await.unwrap();
    assert_eq!(decided.attempts, 1);
    before
}

/// Makes a decision without events. Returns how many seats it saw.
async fn count<S: EventStore + Clone + 'static>(store: &S) -> u64 {
    let mut seen = 0;
    let decide = |taken| {
        seen = taken;
        Ok::<_, Error>(Vec::new())
    };
    seats_taken().decide(store, decide).await.unwrap();
    seen
}

fn reads(store: &impl EventStore) -> u64 {
    store.stats().reads
}

pub(super) async fn second_decision_reads_nothing(store: &Arc<impl EventStore + 'static>) {
    if store.lanes().is_none() {
        return;
    }
    assert_eq!(take(store).await, 0);
    let cold = reads(store);
    for before in 1..10 {
        assert_eq!(take(store).await, before);
    }
    assert_eq!(reads(store), cold);
}

/// Each decision between these appends is of a lane that does not know of them.
pub(super) async fn warm_decision_sees_another_writer(store: &Arc<impl EventStore + 'static>) {
    for round in 0..5 {
        assert_eq!(take(store).await, 3 * round);
        store.append(tagged(&["seat"])).await.unwrap();
        store.append(tagged(&["other"])).await.unwrap();
        assert_eq!(take(store).await, 3 * round + 2);
        store.append(tagged(&["other"])).await.unwrap();
    }
}

pub(super) async fn warm_refusal_sees_another_writer(store: &Arc<impl EventStore + 'static>) {
    take(store).await;
    for seats in 1..6 {
        let mut seen = 0;
        let refuse = |taken| {
            seen = taken;
            Err::<Event, _>(Refusal::Full)
        };
        let refused = seats_taken().decide(store, refuse).await;
        assert!(matches!(refused, Err(Refusal::Full)), "{refused:?}");
        assert_eq!(seen, seats);
        assert_eq!(count(store).await, seats);
        store.append(tagged(&["seat"])).await.unwrap();
    }
}

/// Nothing has changed, so a single read proves the refusal.
pub(super) async fn warm_refusal_reads_once(store: &Arc<impl EventStore + 'static>) {
    if store.lanes().is_none() {
        return;
    }
    take(store).await;
    let before = reads(store);
    assert_eq!(count(store).await, 1);
    assert!(reads(store) <= before + 1);
}

/// An append of events that are stored already checks no condition. So it does not prove that the lane
/// knows all events before them.
pub(super) async fn repeated_decision_proves_nothing(store: &Arc<impl EventStore + 'static>) {
    let own = tagged(&["seat"]).with_id(Uuid::now_v7());
    take(store).await;
    store
        .append([tagged(&["seat"]), own.clone()])
        .await
        .unwrap();
    let decide = |_| Ok::<_, Error>(own.clone());
    let decided = seats_taken().decide(store, decide).await.unwrap();
    assert_eq!(decided.appended.unwrap().first().get(), 3);
    assert_eq!(count(store).await, 3);
    assert_eq!(take(store).await, 3);
}

/// The lane has folded decisions that were not committed.
pub(super) async fn refused_decision_leaves_nothing_behind(store: &Arc<impl EventStore + 'static>) {
    take(store).await;
    let stored = tagged(&["other"]).with_id(Uuid::now_v7());
    store.append(stored.clone()).await.unwrap();
    // The id is taken by an event with other content.
    let taken = tagged(&["seat"]).with_id(stored.id().unwrap());
    let decide = |_| Ok::<_, Error>(vec![tagged(&["seat"]), taken.clone()]);
    let refused = seats_taken().decide(store, decide).await;
    assert!(
        matches!(refused, Err(Error::DuplicateId { .. })),
        "{refused:?}"
    );
    assert_eq!(count(store).await, 1);
    assert_eq!(take(store).await, 1);
}

pub(super) async fn forgotten_boundary_is_read_again(store: &Arc<impl EventStore + 'static>) {
    let Some(lanes) = store.lanes() else {
        return;
    };
    take(store).await;
    lanes.forget();
    let before = reads(store);
    assert_eq!(take(store).await, 1);
    assert_ne!(reads(store), before);
}

/// Refusals, panics, dropped decisions and lanes that forget, beside writers without lanes.
pub(super) async fn random_decisions_beside_other_writers_agree_with_replayed_log(
    store: &Arc<impl EventStore + 'static>,
) {
    for callers in CALLERS {
        let workload = Workload {
            seed: 71 + callers as u64,
            decisions: 600 / callers,
        };
        let ledgers = at_once(store, callers, |store, number| async move {
            match number % 4 {
                3 => checker::work(&store, workload, number as u64).await,
                _ => checker::decide(&store, workload, number as u64).await,
            }
        });
        let ledgers = ledgers.await;
        let summary = checker::check(&log(store).await, &ledgers).unwrap();
        assert_eq!(summary.failed, 0, "{summary:?}");
        assert!(summary.acknowledged > 100, "{summary:?}");
    }
}
