//! The work of concurrent callers, in this process and in worker processes.

use std::sync::Arc;

use dcb_conformance::checker::{self, Ledger, Workload};
use dcb_core::{
    AppendCondition, Appended, Bookmark, DecisionModel, Error, Event, Position, Projector, Query,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;

use super::backend::SharedStore;
use super::events::{tag, tagged};
use super::workers::print_line;

/// The work of each caller.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Task {
    /// In each round, tries to append an event for one side, under the condition that no side has
    /// an event in this round.
    Contend { rounds: usize, sides: u64 },
    /// In each round, books one seat in the left or the right room, unless all seats are taken. The
    /// two rooms share the seats of a round.
    Book { rounds: usize, seats: u64 },
    /// In each round, appends one to three events with the caller's own tag or the shared tag.
    Append { rounds: u64 },
    /// Makes the decisions of a worker of the conformance suite's checker, in lanes or not.
    Decide { seed: u64, decisions: usize },
    /// Makes such decisions in an endless loop, and prints each ledger at once.
    DecideUntilKilled { seed: u64 },
    /// Appends large events in an endless loop, and prints each position at once.
    FillUntilKilled,
    /// Appends under a condition that no other caller's events match.
    Keep { rounds: usize },
    /// Appends one event for each of two tags, or projects both tags.
    Pair { rounds: usize },
}

/// The answer to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Appended { first: u64 },
    Conflict { position: u64 },
    Full,
    Counted { counts: [u64; 2], after: u64 },
}

/// The answers to the callers of one process.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The answers to each caller, in the order of its calls.
    pub(crate) answers: Vec<Vec<Answer>>,
    /// The ledger of each caller. Only callers that decide fill it.
    pub(crate) ledgers: Vec<Ledger>,
    /// The number of conflicts that the store counted.
    pub(crate) conflicts: u64,
}

/// Performs the task with these callers. They start together.
pub(crate) async fn perform(store: &impl SharedStore, task: &Task, callers: &[u64]) -> Report {
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
        let (answers, ledger) = task.await.expect("no caller panics");
        report.answers.push(answers);
        report.ledgers.push(ledger);
    }
    report.conflicts = store.stats().conflicts;
    report
}

async fn call(store: &impl SharedStore, task: &Task, number: u64) -> (Vec<Answer>, Ledger) {
    let mut answers = Vec::new();
    let mut ledger = Ledger::default();
    match *task {
        Task::Contend { rounds, sides } => {
            for round in 0..rounds {
                answers.push(contend(store, round, sides, number).await);
            }
        }
        Task::Book { rounds, seats } => {
            for round in 0..rounds {
                answers.push(book(store, round, seats, number).await);
            }
        }
        Task::Append { rounds } => {
            for round in 0..rounds {
                answers.push(append(store, round, number).await);
            }
        }
        Task::Decide { seed, decisions } => {
            ledger = decide(store, Workload { seed, decisions }, number).await;
        }
        Task::DecideUntilKilled { seed } => decide_until_killed(store, seed, number).await,
        Task::FillUntilKilled => fill_until_killed(store).await,
        Task::Keep { rounds } => answers = keep(store, rounds, number).await,
        Task::Pair { rounds } => {
            for _ in 0..rounds {
                answers.push(pair(store, number).await);
            }
        }
    }
    (answers, ledger)
}

fn answer(result: Result<Appended, Error>) -> Answer {
    match result {
        Ok(appended) => Answer::Appended {
            first: appended.first().get(),
        },
        Err(Error::Conflict { position, .. }) => Answer::Conflict {
            position: position.get(),
        },
        Err(error) => panic!("an append failed: {error}"),
    }
}

async fn contend(store: &impl SharedStore, round: usize, sides: u64, number: u64) -> Answer {
    let name = |side| format!("side {side} of round {round}");
    let any = (0..sides).map(|side| tag(&name(side))).reduce(Query::or);
    let condition = AppendCondition::fail_if(any.expect("at least one side"));
    answer(
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

async fn book(store: &impl SharedStore, round: usize, seats: u64, number: u64) -> Answer {
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
        Ok(decided) => answer(Ok(decided.appended.expect("one event"))),
        Err(Refusal::Full) => Answer::Full,
        Err(Refusal::Store(error)) => answer(Err(error)),
    }
}

/// The tag of every second append.
pub(crate) const SHARED: &str = "shared";

async fn append(store: &impl SharedStore, round: u64, number: u64) -> Answer {
    let own_tag = format!("caller {number}");
    let name = if round.is_multiple_of(2) {
        SHARED
    } else {
        &own_tag
    };
    let events: Vec<Event> = (0..=(number + round) % 3).map(|_| tagged(name)).collect();
    answer(store.append(events).await)
}

/// Every second caller decides in lanes, the others under the conditions of their own reads.
async fn decide(store: &impl SharedStore, workload: Workload, number: u64) -> Ledger {
    match number % 2 {
        0 => checker::decide(store, workload, number).await,
        _ => checker::work(store, workload, number).await,
    }
}

async fn decide_until_killed(store: &impl SharedStore, seed: u64, number: u64) {
    for seed in seed.. {
        let workload = Workload { seed, decisions: 1 };
        let ledger = decide(store, workload, number).await;
        print_line(&serde_json::to_string(&ledger).expect("a ledger is plain data"));
    }
}

/// An event of 12 pages.
pub(crate) fn large() -> Event {
    let event = Event::builder("Happened").tag(SHARED).data(vec![7; 50_000]);
    event.build().expect("the event is valid")
}

async fn fill_until_killed(store: &impl SharedStore) {
    loop {
        let appended = store.append(large()).await.expect("the disk has room");
        print_line(&appended.first().get().to_string());
    }
}

async fn keep(store: &impl SharedStore, rounds: usize, number: u64) -> Vec<Answer> {
    let own_tag = format!("caller {number}");
    let mut after: Option<Bookmark> = None;
    let mut answers = Vec::new();
    for _ in 0..rounds {
        let event = Event::builder("Happened").tags([own_tag.as_str(), SHARED]);
        let condition = AppendCondition::fail_if(tag(&own_tag)).after(after);
        let result = store
            .append_if(event.build().expect("the event is valid"), condition)
            .await;
        after = result.as_ref().ok().map(|appended| appended.last().into());
        answers.push(answer(result));
    }
    answers
}

/// The two tags that are always written together.
pub(crate) const PAIR: [&str; 2] = ["one of two", "two of two"];

async fn pair(store: &impl SharedStore, number: u64) -> Answer {
    if number.is_multiple_of(2) {
        return answer(store.append(PAIR.map(tagged)).await);
    }
    let [one, two] = PAIR.map(|name| Projector::counter(tag(name)));
    let projected = store.project(&(one, two)).await.expect("a projection");
    Answer::Counted {
        counts: projected.state.into(),
        after: Position::number_or_zero(Bookmark::position_of(projected.condition.after)),
    }
}
