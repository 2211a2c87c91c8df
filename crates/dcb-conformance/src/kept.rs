//! Decisions on a state that the store keeps instead of the events. They see what the events tell.

use std::sync::Arc;

use conformance_suite::at_once;
use dcb_core::{DecisionModel, Error, EventStore, Projector};

use super::fixture::{many, tag, tagged};

/// The number of seats taken, kept as a state.
fn seats_taken() -> Projector<u64> {
    Projector::counter(tag("seat")).keep("seats", 1)
}

/// Takes a seat. Returns what the decision saw.
async fn take<S, T>(store: &S, seats: Projector<T>) -> T
where
    S: EventStore + Clone + 'static,
    T: Clone + Send + Sync,
{
    let mut seen = None;
    let decide = |taken| {
        seen = Some(taken);
        Ok::<_, Error>(tagged(&["seat"]))
    };
    let decided = DecisionModel::new(seats).decide(store, decide).await;
    decided.unwrap();
    seen.unwrap()
}

/// More events than a state replaces, some of other writers.
pub(super) async fn kept_state_sees_every_event(store: &Arc<impl EventStore + 'static>) {
    let mut before = 0;
    for round in 0..200 {
        assert_eq!(take(store, seats_taken()).await, before);
        before += 1;
        if round % 30 == 29 {
            store.append(many(round, "seat")).await.unwrap();
            before += round as u64;
        }
    }
}

/// Without the state, a boundary of this size is read for each decision.
pub(super) async fn large_boundary_is_read_once(store: &Arc<impl EventStore + 'static>) {
    for _ in 0..11 {
        store.append(many(1000, "seat")).await.unwrap();
    }
    assert_eq!(take(store, seats_taken()).await, 11_000);
    let before = store.stats().reads;
    for taken in 11_001..11_100 {
        assert_eq!(take(store, seats_taken()).await, taken);
    }
    if store.lanes().is_some() {
        assert_eq!(store.stats().reads, before);
    }
    store.append(many(1000, "seat")).await.unwrap();
    assert_eq!(take(store, seats_taken()).await, 12_100);
}

/// A state of another version, name or type is not used.
pub(super) async fn other_folds_have_their_own_state(store: &Arc<impl EventStore + 'static>) {
    let by_two = || Projector::new(tag("seat"), 0, |taken: &mut u64, _| *taken += 2);
    let signed = || Projector::new(tag("seat"), 0, |taken: &mut i64, _| *taken -= 1);
    store.append(many(100, "seat")).await.unwrap();
    for before in (100..400).step_by(5) {
        assert_eq!(take(store, seats_taken()).await, before);
        assert_eq!(
            take(store, by_two().keep("seats", 2)).await,
            2 * (before + 1)
        );
        assert_eq!(
            take(store, by_two().keep("pairs", 1)).await,
            2 * (before + 2)
        );
        let signed = take(store, signed().keep("seats", 1)).await;
        assert_eq!(signed, -(before as i64 + 3));
        assert_eq!(
            take(store, Projector::counter(tag("seat"))).await,
            before + 4
        );
    }
}

pub(super) async fn forgotten_state_is_read_again(store: &Arc<impl EventStore + 'static>) {
    store.append(many(100, "seat")).await.unwrap();
    for before in 100..110 {
        assert_eq!(take(store, seats_taken()).await, before);
        if let Some(lanes) = store.lanes() {
            lanes.forget();
        }
    }
}

/// Decisions that share commits fold what is not committed yet. That is never in the state.
pub(super) async fn crowd_on_a_kept_state_is_served(store: &Arc<impl EventStore + 'static>) {
    for round in 0..3 {
        let answers = at_once(store, 100, |store, number| async move {
            if number % 20 == 0 {
                // A decision that is refused, because an event is too large.
                let large = tagged(&["seat"]).to_builder().data(vec![0; 2 << 20]);
                let large = large.build().unwrap();
                let model = DecisionModel::new(seats_taken());
                let decide = |_| Ok::<_, Error>(large.clone());
                model.decide(&store, decide).await.unwrap_err();
                return None;
            }
            Some(take(&store, seats_taken()).await)
        });
        let mut seen: Vec<u64> = answers.await.into_iter().flatten().collect();
        seen.sort_unstable();
        assert_eq!(seen, (95 * round..95 * (round + 1)).collect::<Vec<_>>());
    }
}
