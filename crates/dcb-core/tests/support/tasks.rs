//! What callers do in races, the same in every process.

use std::sync::Arc;

use dcb_core::conformance::checker::{self, Ledger, Workload};
use dcb_core::{
    AppendCondition, Appended, DecisionModel, Error, Event, EventStore, Position, Projector, Query,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;

use super::Store;
use super::events::{tag, tagged};
use super::workers::say;

/// What each caller does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Task {
    /// In each round it appends an event of one of the sides, if there is none of any side.
    Contend { rounds: usize, sides: u64 },
    /// In each round it books a seat in the left or the right room while the two together have one
    /// left.
    Book { rounds: usize, seats: u64 },
    /// It appends one to three events a round, of its own tag or of the shared one.
    Append { rounds: u64 },
    /// It decides as the checker's workers do.
    Decide { seed: u64, decisions: usize },
    /// It decides so for ever, and says each ledger as soon as it has it.
    DecideUntilKilled { seed: u64 },
    /// It appends under a condition that concerns nobody else.
    Keep { rounds: usize },
    /// It appends an event of each of two tags, or projects both.
    Pair { rounds: usize },
}

/// What one caller was told by one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Told {
    Appended { first: u64 },
    Conflict { position: u64 },
    Full,
    Counted { counts: [u64; 2], after: u64 },
}

/// What the callers of one process were told.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Of each caller, in the order of its calls.
    pub(crate) told: Vec<Vec<Told>>,
    /// Of each caller that decides.
    pub(crate) ledgers: Vec<Ledger>,
    /// How many conflicts the store counted.
    pub(crate) conflicts: u64,
}

/// Performs the task by these callers, who begin together.
pub(crate) async fn perform(store: &Store, task: &Task, callers: &[u64]) -> Report {
    let barrier = Arc::new(Barrier::new(callers.len()));
    let tasks: Vec<_> = callers
        .iter()
        .map(|&number| {
            let (store, task, barrier) = (store.clone(), task.clone(), Arc::clone(&barrier));
            tokio::spawn(async move {
                barrier.wait().await;
                call(&store, &task, number).await
            })
        })
        .collect();
    let mut report = Report::default();
    for task in tasks {
        let (told, ledger) = task.await.expect("no caller panics");
        report.told.push(told);
        report.ledgers.push(ledger);
    }
    report.conflicts = store.stats().conflicts;
    report
}

async fn call(store: &Store, task: &Task, number: u64) -> (Vec<Told>, Ledger) {
    let mut told = Vec::new();
    let mut ledger = Ledger::default();
    match *task {
        Task::Contend { rounds, sides } => {
            for round in 0..rounds {
                told.push(contend(store, round, sides, number).await);
            }
        }
        Task::Book { rounds, seats } => {
            for round in 0..rounds {
                told.push(book(store, round, seats, number).await);
            }
        }
        Task::Append { rounds } => {
            for round in 0..rounds {
                told.push(append(store, round, number).await);
            }
        }
        Task::Decide { seed, decisions } => {
            ledger = checker::work(store, Workload { seed, decisions }, number).await;
        }
        Task::DecideUntilKilled { seed } => decide_until_killed(store, seed, number).await,
        Task::Keep { rounds } => told = keep(store, rounds, number).await,
        Task::Pair { rounds } => {
            for _ in 0..rounds {
                told.push(pair(store, number).await);
            }
        }
    }
    (told, ledger)
}

fn told(answer: Result<Appended, Error>) -> Told {
    match answer {
        Ok(appended) => Told::Appended {
            first: appended.first().get(),
        },
        Err(Error::Conflict { position }) => Told::Conflict {
            position: position.get(),
        },
        Err(error) => panic!("an append failed: {error}"),
    }
}

async fn contend(store: &Store, round: usize, sides: u64, number: u64) -> Told {
    let name = |side| format!("side {side} of round {round}");
    let any = (0..sides).map(|side| tag(&name(side))).reduce(Query::or);
    let condition = AppendCondition::fail_if(any.expect("at least one side"));
    told(
        store
            .append_if(tagged(&name(number % sides)), condition)
            .await,
    )
}

enum Refusal {
    Full,
    Store(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// The two rooms that share the seats of a round.
pub(crate) fn rooms(round: usize) -> [String; 2] {
    ["left", "right"].map(|side| format!("{side} room of round {round}"))
}

async fn book(store: &Store, round: usize, seats: u64, number: u64) -> Told {
    let rooms = rooms(round);
    let [left, right] = rooms.each_ref().map(|room| Projector::counter(tag(room)));
    let model = DecisionModel::new((left, right)).max_attempts(u32::MAX);
    let decide = |(left, right)| {
        if left + right < seats {
            Ok(tagged(&rooms[(number % 2) as usize]))
        } else {
            Err(Refusal::Full)
        }
    };
    match model.decide(store, decide).await {
        Ok(decided) => told(Ok(decided.appended.expect("one event"))),
        Err(Refusal::Full) => Told::Full,
        Err(Refusal::Store(error)) => told(Err(error)),
    }
}

/// The tag that every second append has.
pub(crate) const SHARED: &str = "shared";

async fn append(store: &Store, round: u64, number: u64) -> Told {
    let own = format!("caller {number}");
    let name = if round.is_multiple_of(2) {
        SHARED
    } else {
        &own
    };
    let events: Vec<Event> = (0..=(number + round) % 3).map(|_| tagged(name)).collect();
    told(store.append(events).await)
}

async fn decide_until_killed(store: &Store, seed: u64, number: u64) {
    for seed in seed.. {
        let workload = Workload { seed, decisions: 1 };
        let ledger = checker::work(store, workload, number).await;
        say(&serde_json::to_string(&ledger).expect("a ledger is plain data"));
    }
}

async fn keep(store: &Store, rounds: usize, number: u64) -> Vec<Told> {
    let own = format!("caller {number}");
    let mut after: Option<Position> = None;
    let mut answers = Vec::new();
    for _ in 0..rounds {
        let event = Event::builder("Happened").tags([own.as_str(), SHARED]);
        let condition = AppendCondition::fail_if(tag(&own)).after(after);
        let answer = store
            .append_if(event.build().expect("the event is valid"), condition)
            .await;
        after = answer.as_ref().ok().map(Appended::last);
        answers.push(told(answer));
    }
    answers
}

/// The two tags that are always written together.
pub(crate) const PAIR: [&str; 2] = ["one of two", "two of two"];

async fn pair(store: &Store, number: u64) -> Told {
    if number.is_multiple_of(2) {
        return told(store.append(PAIR.map(tagged)).await);
    }
    let [one, two] = PAIR.map(|name| Projector::counter(tag(name)));
    let projected = store.project(&(one, two)).await.expect("a projection");
    Told::Counted {
        counts: projected.state.into(),
        after: Position::number_or_zero(projected.condition.after),
    }
}
