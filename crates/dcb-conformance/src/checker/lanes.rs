//! The decisions of one worker in lanes.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use conformance_suite::Random;
use dcb_core::{Decided, DecisionModel, Error, Event, EventStore, Fault, Projector};
use futures_util::FutureExt as _;
use tokio::time::timeout;
use uuid::Uuid;

use super::worker::{Workload, boundary, events};
use super::{Acknowledged, Boundary, Count, Failed, Ledger, Refusal};
use crate::fixture::panic_silently;

/// The number of different boundaries.
const BOUNDARIES: u64 = 4;

/// Makes decisions in lanes, on a few boundaries that overlap. Every second one also depends on a
/// second boundary. Some decisions are refused, have no events, panic or are dropped. Now and then all
/// lanes forget their events.
///
/// # Panics
/// If building a valid event fails, which would be a bug in this crate.
pub async fn decide<S>(store: &S, workload: Workload, number: u64) -> Ledger
where
    S: EventStore + Clone + 'static,
{
    let mut random = Random::new(Random::new(workload.seed).number() ^ number);
    let mut ledger = Ledger::default();
    for _ in 0..workload.decisions {
        let shared = boundary(&mut Random::new(random.below(BOUNDARIES)));
        let own = random.once_in(2).then(|| boundary(&mut random));
        if let (true, Some(lanes)) = (random.once_in(10), store.lanes()) {
            lanes.forget();
        }
        decide_once(store, &mut random, &mut ledger, shared, own).await;
    }
    ledger
}

async fn decide_once<S>(
    store: &S,
    random: &mut Random,
    ledger: &mut Ledger,
    shared: Boundary,
    own: Option<Boundary>,
) where
    S: EventStore + Clone + 'static,
{
    let before = store.head().await;
    let mut tries: Vec<Vec<Uuid>> = Vec::new();
    // The count that the last try saw.
    let mut saw: Option<Count> = None;
    let is_dropped = random.once_in(10);
    let counter =
        |boundary: &Boundary| Projector::counter(boundary.query().expect("the boundary is valid"));
    let mut decide = |counts: Vec<Count>| {
        if random.once_in(20) {
            panic_silently();
        }
        saw = counts.first().cloned();
        if random.once_in(8) {
            return Err(Refused(None));
        }
        if random.once_in(8) {
            return Ok(Vec::new());
        }
        let events = events(random, &counts);
        tries.push(events.iter().filter_map(Event::id).collect());
        Ok(events)
    };
    // Longer than a busy machine needs for decisions that collide.
    let model = DecisionModel::new(counter(&shared)).time_limit(Duration::from_secs(60));
    let count = |boundary: &Boundary, events| Count {
        boundary: boundary.clone(),
        events,
    };
    let decision = async {
        match &own {
            None => {
                let decide = |events| decide(vec![count(&shared, events)]);
                model.decide(store, decide).await
            }
            Some(own) => {
                let decide = |events, own_events| {
                    decide(vec![count(&shared, events), count(own, own_events)])
                };
                model.and(counter(own)).decide(store, decide).await
            }
        }
    };
    let decision = AssertUnwindSafe(decision).catch_unwind();
    let decided = match is_dropped {
        true => timeout(Duration::from_micros(500), decision).await.ok(),
        false => Some(decision.await),
    };
    let decided_nothing = match &decided {
        Some(Ok(Ok(decided))) => decided.appended.is_none(),
        Some(Ok(Err(Refused(error)))) => error.is_none(),
        _ => false,
    };
    if let (true, Some(count)) = (decided_nothing, saw) {
        // The tries before it were not committed.
        ledger.conflicts.extend(tries);
        if let (Ok(before), Ok(after)) = (before, store.head().await) {
            let heads = [before, after].map(|head| head.map_or(0, |head| head.position.get()));
            ledger.refusals.push(Refusal { count, heads });
        }
        return;
    }
    let last = tries.pop();
    ledger.conflicts.extend(tries);
    match (decided, last) {
        // The decision was dropped. Either outcome of its last try is correct.
        (None, _) => {}
        // A refusal or a panic follows tries that were not committed.
        (Some(Err(_)), last) => ledger.conflicts.extend(last),
        (Some(Ok(Err(Refused(error)))), last) => note(ledger, error, last),
        (Some(Ok(Ok(Decided { appended, .. }))), last) => {
            let appended = appended.expect("a decision with events has positions");
            ledger.acknowledged.push(Acknowledged {
                first: appended.first().get(),
                ids: last.expect("a decision has events"),
            });
        }
    }
}

/// Notes the error of the last try.
fn note(ledger: &mut Ledger, error: Option<Error>, last: Option<Vec<Uuid>>) {
    let Some(error) = error else { return };
    match error {
        Error::RetriesExhausted { .. } => ledger.conflicts.extend(last),
        Error::OutcomeUnknown { .. } | Error::Fault(Fault::Panicked) => ledger.unknown.extend(last),
        error => ledger.failed.push(Failed {
            ids: last.unwrap_or_default(),
            error: error.to_string(),
        }),
    }
}

/// The decision's own refusal, or an error of the store.
#[derive(Debug)]
struct Refused(Option<Error>);

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self(Some(error))
    }
}
