//! The decisions of one worker.

use conformance_suite::Random;
use dcb_core::{AppendCondition, Appended, Error, Event, EventStore, Fault, Projector};
use uuid::Uuid;

use super::{Acknowledged, Boundary, Count, Decision, Failed, Ledger, MARK};

const TYPES: [&str; 2] = ["Opened", "Closed"];
/// Tags that many decisions share.
const HOT: [&str; 2] = ["hot:0", "hot:1"];
/// The number of tags that are not hot.
const COLD: u64 = 40;
/// The maximum number of events per decision.
const MAX_EVENTS: u64 = 3;

/// The work of each worker.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The seed and the worker's number determine all choices except the ids.
    pub seed: u64,
    /// The number of decisions per worker.
    pub decisions: usize,
}

/// Makes the decisions of the worker with this number and returns the store's answers.
///
/// A failed read or append goes into the ledger and the worker continues, so the store may be
/// killed at any time. You can run any number of workers; give each a different number.
///
/// # Panics
/// If building a valid event fails, which would be a bug in this crate.
pub async fn work(store: &impl EventStore, workload: Workload, number: u64) -> Ledger {
    // Hashes the seed first, so that neighbouring seeds and numbers do not give the same choices.
    let mut random = Random::new(Random::new(workload.seed).number() ^ number);
    let mut ledger = Ledger::default();
    for _ in 0..workload.decisions {
        decide(store, &mut random, &mut ledger).await;
    }
    ledger
}

async fn decide(store: &impl EventStore, random: &mut Random, ledger: &mut Ledger) {
    let (mut counts, mut conditions) = (Vec::new(), Vec::new());
    for boundary in boundaries(random) {
        let query = boundary.query().expect("the boundary is valid");
        match store.project(&Projector::counter(query)).await {
            Ok(projected) => {
                let events = projected.state;
                counts.push(Count { boundary, events });
                conditions.push(projected.condition);
            }
            Err(error) => return ledger.unread.push(error.to_string()),
        }
        // Give other workers a chance to interfere, even if the store is fast.
        tokio::task::yield_now().await;
    }
    append(store, events(random, &counts), conditions, ledger).await;
}

async fn append(
    store: &impl EventStore,
    events: Vec<Event>,
    conditions: Vec<AppendCondition>,
    ledger: &mut Ledger,
) {
    let ids = events.iter().filter_map(Event::id).collect();
    let answer: Result<Appended, Error> = store.append_if(events, conditions).await;
    match answer {
        Ok(appended) => {
            ledger.acknowledged.push(Acknowledged {
                first: appended.first().get(),
                ids,
            });
        }
        Err(Error::Conflict { .. }) => ledger.conflicts.push(ids),
        Err(Error::OutcomeUnknown { .. } | Error::Fault(Fault::Panicked)) => {
            ledger.unknown.push(ids);
        }
        Err(error) => ledger.failed.push(Failed {
            ids,
            error: error.to_string(),
        }),
    }
}

/// Up to three boundaries, each to be read at its own time; mostly one.
fn boundaries(random: &mut Random) -> Vec<Boundary> {
    let count = random.pick(&[0, 1, 1, 1, 1, 2, 2, 3]);
    (0..count).map(|_| boundary(random)).collect()
}

/// One to three items. Most tags are cold; about one in three is hot.
pub(super) fn boundary(random: &mut Random) -> Boundary {
    let items = (0..=random.below(3)).map(|_| item(random));
    Boundary {
        items: items.collect(),
    }
}

fn item(random: &mut Random) -> (Vec<String>, Vec<String>) {
    let types = if random.once_in(3) {
        vec![random.pick(&TYPES).to_owned()]
    } else {
        Vec::new()
    };
    let mut tags = vec![tag(random)];
    if random.once_in(4) {
        tags.push(tag(random));
    }
    (types, tags)
}

fn tag(random: &mut Random) -> String {
    if random.once_in(3) {
        random.pick(&HOT).to_owned()
    } else {
        format!("cold:{}", random.below(COLD))
    }
}

/// Events that each match an item of one of the decision's own boundaries, so that decisions
/// conflict. Some have a further tag, which may put them into other boundaries.
pub(super) fn events(random: &mut Random, counts: &[Count]) -> Vec<Event> {
    // The ids can't come from the seed, because a worker that runs again must not repeat them.
    let ids: Vec<Uuid> = (0..=random.below(MAX_EVENTS))
        .map(|_| Uuid::now_v7())
        .collect();
    let event = |(index, id): (usize, &Uuid)| {
        let (types, mut tags) = if counts.is_empty() {
            item(random)
        } else {
            let count = random.pick(counts);
            random.pick(&count.boundary.items)
        };
        if random.once_in(4) {
            tags.push(tag(random));
        }
        let event_type = types
            .first()
            .map_or_else(|| random.pick(&TYPES), String::as_str);
        let decision = Decision {
            counts: counts.to_vec(),
            index,
            len: ids.len(),
            first_id: ids[0],
        };
        let event = Event::builder(event_type)
            .id(*id)
            .tags(tags)
            .metadata(MARK, "");
        event.json(&decision).build().expect("the event is valid")
    };
    ids.iter().enumerate().map(event).collect()
}
