use uuid::Uuid;

use super::{Acknowledged, Boundary, Decision, Failed, Ledger, MARK};
use crate::conformance::random::Random;
use crate::{AppendCondition, Appended, Error, Event, EventStore, Projector};

const TYPES: [&str; 2] = ["Opened", "Closed"];
/// Tags that most of the decisions meet at.
const HOT: [&str; 2] = ["hot:0", "hot:1"];
/// How many tags there are beside the hot ones.
const COLD: u64 = 40;
/// The most events of one decision.
const MOST_EVENTS: u64 = 3;

/// What each worker does.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// With the number of the worker it gives all that it chooses, but for the ids.
    pub seed: u64,
    /// How many decisions each worker makes.
    pub decisions: usize,
}

/// Makes the decisions of the worker `number`, and tells what the store answered.
///
/// A failing read or append is written down, and the next decision is made: the store may be
/// killed meanwhile. Run as many workers as you like, each with a number of its own.
///
/// # Panics
/// Where a valid event is refused by the vocabulary: a fault of this crate.
pub async fn work(store: &impl EventStore, workload: Workload, number: u64) -> Ledger {
    let mut random = Random::new(Random::new(workload.seed).number() ^ number);
    let mut ledger = Ledger::default();
    for _ in 0..workload.decisions {
        decide(store, &mut random, &mut ledger).await;
    }
    ledger
}

async fn decide(store: &impl EventStore, random: &mut Random, ledger: &mut Ledger) {
    let boundary = boundary(random);
    let query = boundary.query().expect("the boundary is valid");
    match store.project(&Projector::counter(query)).await {
        Ok(projected) => {
            let events = events(random, &boundary, projected.state);
            // Lets other workers come between, however fast the store is.
            tokio::task::yield_now().await;
            append(store, events, projected.condition, ledger).await;
        }
        Err(error) => ledger.unread.push(error.to_string()),
    }
}

async fn append(
    store: &impl EventStore,
    events: Vec<Event>,
    condition: AppendCondition,
    ledger: &mut Ledger,
) {
    let ids = events.iter().filter_map(Event::id).collect();
    let answer: Result<Appended, Error> = store.append_if(events, condition).await;
    match answer {
        Ok(appended) => {
            ledger.acknowledged.push(Acknowledged {
                first: appended.first().get(),
                ids,
            });
        }
        Err(Error::Conflict { .. }) => ledger.conflicts.push(ids),
        Err(Error::OutcomeUnknown { .. } | Error::Panicked) => ledger.unknown.push(ids),
        Err(error) => ledger.failed.push(Failed {
            ids,
            error: error.to_string(),
        }),
    }
}

/// One to three items; most decisions have a tag of their own in it, and a third a hot one.
fn boundary(random: &mut Random) -> Boundary {
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

/// Events that fall into one item of their own boundary, so that decisions meet, and sometimes
/// into a foreign one.
fn events(random: &mut Random, boundary: &Boundary, counted: u64) -> Vec<Event> {
    // The ids can't come from the seed: a worker that is run again must not repeat them.
    let ids: Vec<Uuid> = (0..=random.below(MOST_EVENTS))
        .map(|_| Uuid::now_v7())
        .collect();
    let event = |(index, id): (usize, &Uuid)| {
        let (types, mut tags) = random.pick(&boundary.items);
        if random.once_in(4) {
            tags.push(tag(random));
        }
        let event_type = types
            .first()
            .map_or_else(|| random.pick(&TYPES), String::as_str);
        let (boundary, of, first_id) = (boundary.clone(), ids.len(), ids[0]);
        let decision = Decision {
            counted,
            boundary,
            index,
            of,
            first_id,
        };
        let event = Event::builder(event_type)
            .id(*id)
            .tags(tags)
            .metadata(MARK, "");
        event.json(&decision).build().expect("the event is valid")
    };
    ids.iter().enumerate().map(event).collect()
}
