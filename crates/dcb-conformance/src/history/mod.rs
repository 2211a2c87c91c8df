//! Random histories. The store under test and the memory store run the same calls and must give the
//! same answers.

mod steps;

use std::fmt::Debug;

use conformance_suite::{effort, runtime};
use dcb_core::{
    Bookmark, Error, EventStore, MemoryStore, Position, Projector, Query, SequencedEvent,
};
use uuid::Uuid;

use self::steps::{Step, Steps};

/// The number of calls in a history.
const STEPS: usize = 60;

/// Runs [`effort`] histories, 30 by default. Each has a new store and its own number as its seed.
///
/// # Panics
/// At the first difference. The message names the seed and the step.
pub fn run_all<S: EventStore>(factory: impl AsyncFn() -> S) {
    let histories = effort(30) as u64;
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

/// Runs the history with this seed on `store`, whose log must be empty, and on a memory store.
///
/// # Panics
/// At the first difference. The message names the seed and the step.
pub async fn compare(store: &impl EventStore, seed: u64) {
    let oracle = MemoryStore::new();
    let mut steps = Steps::new(seed);
    for number in 0..STEPS {
        let head = oracle
            .head()
            .await
            .expect("the memory store can always be read");
        let step = steps.next(Bookmark::position_of(head));
        let (answer, expected) = (call(store, &step).await, call(&oracle, &step).await);
        assert!(
            answer == expected,
            "seed {seed}, step {number}: {step:#?}\nanswered {answer:#?}\nexpected {expected:#?}"
        );
    }
}

/// The part of an answer that both stores must agree on.
#[derive(Debug, PartialEq)]
enum Answer {
    Events {
        head: Option<u64>,
        events: Vec<Content>,
    },
    /// The debug form of any other result, errors included.
    Other(String),
}

/// An event without its time of recording, which differs between the stores.
#[derive(Debug, PartialEq)]
struct Content {
    position: u64,
    id: Uuid,
    event_type: String,
    tags: Vec<String>,
    metadata: Vec<(String, String)>,
    data: Vec<u8>,
}

impl From<&SequencedEvent> for Content {
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

async fn call(store: &impl EventStore, step: &Step) -> Answer {
    match step {
        Step::Submit(append) => other(&store.submit(append.clone()).await),
        Step::Read(query, options) => match store.query(query, *options).await {
            Ok(read) => Answer::Events {
                head: read.head.map(|head| head.position.get()),
                events: read.events.iter().map(Content::from).collect(),
            },
            Err(error) => other::<()>(&Err(error)),
        },
        Step::Project(query) => other(&store.project(&Projector::counter(query.clone())).await),
        Step::ProjectLast(queries) => {
            let last: Vec<_> = queries.iter().cloned().map(last_position).collect();
            other(&store.project(&last).await)
        }
        Step::Count(query) => other(&store.count(query).await),
        Step::Exists(query) => other(&store.exists(query).await),
        Step::Head => other(&store.head().await.map(Bookmark::position_of)),
        Step::Tracked(source) => other(&store.tracked(source).await),
    }
}

/// The position of the last event of the query.
fn last_position(query: Query) -> Projector<Option<Position>> {
    let last = Projector::new(query, None, |last, event| *last = Some(event.position()));
    last.last_only()
}

fn other<T: Debug>(answer: &Result<T, Error>) -> Answer {
    Answer::Other(format!("{answer:?}"))
}
