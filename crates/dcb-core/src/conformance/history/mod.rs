//! Random histories: a store and the memory store are asked the same, and must answer the same.

mod steps;

use std::fmt::Debug;

use uuid::Uuid;

use self::steps::{Step, Steps};
use super::{effort, runtime};
use crate::{Error, EventStore, MemoryStore, Projector, SequencedEvent};

/// How many steps a history has.
const STEPS: usize = 60;

/// Runs as many histories as [`effort`] says, 200 by default, each on a fresh store and with its
/// number as seed.
///
/// # Panics
/// At the first difference, with the seed and the step.
pub fn run_all<S: EventStore>(factory: impl AsyncFn() -> S) {
    let histories = effort(200) as u64;
    println!(
        "random histories with seeds from 0 to {}",
        histories.saturating_sub(1)
    );
    runtime().block_on(async {
        for seed in 0..histories {
            compare(&factory().await, seed).await;
        }
    });
}

/// Runs the history of this seed on `store`, whose log must be empty, and on a memory store.
///
/// # Panics
/// At the first difference, with the seed and the step.
pub async fn compare(store: &impl EventStore, seed: u64) {
    let oracle = MemoryStore::new();
    let mut steps = Steps::new(seed);
    for number in 0..STEPS {
        let head = oracle.head().await.expect("the memory store answers");
        let step = steps.next(head);
        let (answer, expected) = (take(store, &step).await, take(&oracle, &step).await);
        assert!(
            answer == expected,
            "seed {seed}, step {number}: {step:#?}\nanswered {answer:#?}\nexpected {expected:#?}"
        );
    }
}

/// What can be compared of an answer.
#[derive(Debug, PartialEq)]
enum Answer {
    Events {
        head: Option<u64>,
        events: Vec<Seen>,
    },
    /// Anything whose debug form tells all of it, errors included.
    Told(String),
}

/// An event without the time at which it was recorded.
#[derive(Debug, PartialEq)]
struct Seen {
    position: u64,
    id: Uuid,
    event_type: String,
    tags: Vec<String>,
    metadata: Vec<(String, String)>,
    data: Vec<u8>,
}

impl From<&SequencedEvent> for Seen {
    fn from(event: &SequencedEvent) -> Self {
        let pair = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        Self {
            position: event.position().get(),
            id: event.id(),
            event_type: event.event_type().to_owned(),
            tags: event.tags().map(str::to_owned).collect(),
            metadata: event.metadata().map(pair).collect(),
            data: event.data().to_vec(),
        }
    }
}

async fn take(store: &impl EventStore, step: &Step) -> Answer {
    match step {
        Step::Submit(append) => told(&store.submit(append.clone()).await),
        Step::Read(query, options) => match store.query(query, *options).await {
            Ok(read) => Answer::Events {
                head: read.head.map(|head| head.get()),
                events: read.events.iter().map(Seen::from).collect(),
            },
            Err(error) => told::<()>(&Err(error)),
        },
        Step::Project(query) => told(&store.project(&Projector::counter(query.clone())).await),
        Step::Count(query) => told(&store.count(query).await),
        Step::Exists(query) => told(&store.exists(query).await),
        Step::Head => told(&store.head().await),
        Step::Tracked(source) => told(&store.tracked(source).await),
    }
}

fn told<T: Debug>(answer: &Result<T, Error>) -> Answer {
    Answer::Told(format!("{answer:?}"))
}
