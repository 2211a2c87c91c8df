//! Callers in two writer processes and in this one.

use std::collections::HashMap;

use dcb_core::conformance::{CALLERS, checker, effort};
use dcb_core::{EventStore, Position, Query, ReadOptions, SequencedEvent};
use tokio::sync::watch;

use crate::support::events::{positions, read, tag, whole_log};
use crate::support::tasks::{PAIR, Report, SHARED, Task, Told, rooms};
use crate::support::workers::everywhere;
use crate::support::{Log, Store, connect, fresh_log};

/// In each round exactly one append won, and the others were told where it is.
fn assert_one_winner_a_round(reports: &[Report], rounds: usize) {
    for round in 0..rounds {
        let told: Vec<Told> = told(reports).map(|answers| answers[round]).collect();
        let first = |told: &Told| match told {
            Told::Appended { first } => Some(*first),
            _ => None,
        };
        let winners: Vec<u64> = told.iter().filter_map(first).collect();
        let [position] = winners[..] else {
            panic!("round {round} was won at {winners:?}");
        };
        for answer in told.iter().filter(|answer| first(answer).is_none()) {
            assert_eq!(*answer, Told::Conflict { position }, "in round {round}");
        }
    }
}

/// What each caller was told.
fn told(reports: &[Report]) -> impl Iterator<Item = &Vec<Told>> {
    reports.iter().flat_map(|report| &report.told)
}

/// Every place decides, and the log bears out what each decision counted.
pub(crate) async fn assert_decisions_hold(log: &Log, callers: usize, decisions: usize) {
    let seed = callers as u64;
    println!("{callers} callers decide with seed {seed}");
    let decisions = decisions.div_ceil(callers);
    let reports = everywhere(log, &Task::Decide { seed, decisions }, callers).await;
    let ledgers: Vec<_> = reports
        .into_iter()
        .flat_map(|report| report.ledgers)
        .collect();
    let store = connect(log).await;
    let summary = checker::check(&whole_log(&store).await, &ledgers).unwrap();
    assert!(summary.acknowledged > 0, "{summary:?}");
    assert_eq!((summary.failed, summary.unknown), (0, 0), "{ledgers:?}");
    assert!(
        ledgers.iter().all(|ledger| ledger.unread.is_empty()),
        "{ledgers:?}"
    );
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_caller_wins_a_condition() {
    for callers in CALLERS {
        let log = fresh_log().await;
        let rounds = effort(10);
        let reports = everywhere(&log, &Task::Contend { rounds, sides: 1 }, callers).await;
        assert_one_winner_a_round(&reports, rounds);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn either_item_of_a_condition_is_enforced() {
    for callers in CALLERS {
        let log = fresh_log().await;
        let rounds = effort(10);
        let reports = everywhere(&log, &Task::Contend { rounds, sides: 2 }, callers).await;
        assert_one_winner_a_round(&reports, rounds);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_is_protected_for_all_its_entities() {
    for callers in CALLERS {
        let log = fresh_log().await;
        let (rounds, seats) = (effort(10), callers as u64 / 2);
        let reports = everywhere(&log, &Task::Book { rounds, seats }, callers).await;
        let store = connect(&log).await;
        for round in 0..rounds {
            let booked = told(&reports)
                .filter(|answers| matches!(answers[round], Told::Appended { .. }))
                .count() as u64;
            let [left, right] = rooms(round).map(|room| tag(&room));
            let taken = store.count(&left.or(right)).await.unwrap();
            assert_eq!((booked, taken), (seats, seats), "in round {round}");
        }
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_counts_what_it_depends_on() {
    for callers in CALLERS {
        let log = fresh_log().await;
        assert_decisions_hold(&log, callers, effort(400)).await;
    }
}

/// What a reader that pages by position collects until the writers are done and nothing is left.
async fn follow(
    store: Store,
    query: Query,
    options: ReadOptions,
    done: watch::Receiver<bool>,
) -> Vec<SequencedEvent> {
    let mut seen: Vec<SequencedEvent> = Vec::new();
    let mut after: Option<Position> = None;
    loop {
        let last = *done.borrow();
        let page = store.query(&query, options.after(after)).await.unwrap();
        assert!(page.head >= after, "the head moved back to {:?}", page.head);
        let full = options.limit == Some(page.events.len() as u64);
        after = match page.events.last() {
            Some(event) if full => Some(event.position()),
            _ => page.head,
        };
        seen.extend(page.events);
        if last && !full {
            store.close().await;
            return seen;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_by_position_miss_nothing() {
    for callers in CALLERS {
        let log = fresh_log().await;
        let (done, is_done) = watch::channel(false);
        let kinds = [
            (Query::all(), ReadOptions::new()),
            (Query::all(), ReadOptions::new().limit(7)),
            (tag(SHARED), ReadOptions::new()),
        ];
        let mut readers = Vec::new();
        for (query, options) in kinds {
            let reader = follow(connect(&log).await, query.clone(), options, is_done.clone());
            readers.push((query, tokio::spawn(reader)));
        }
        let rounds = (effort(600) as u64).div_ceil(callers as u64);
        everywhere(&log, &Task::Append { rounds }, callers).await;
        done.send(true).unwrap();
        let store = connect(&log).await;
        for (query, reader) in readers {
            let seen = reader.await.unwrap();
            assert_eq!(seen, read(&store, &query).await, "{query:?}");
        }
        let log = positions(&whole_log(&store).await);
        assert_eq!(log, (1..=log.len() as u64).collect::<Vec<_>>());
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn disjoint_boundaries_never_conflict() {
    for callers in CALLERS {
        let log = fresh_log().await;
        let rounds = effort(400).div_ceil(callers);
        let reports = everywhere(&log, &Task::Keep { rounds }, callers).await;
        let conflicts: Vec<u64> = reports.iter().map(|report| report.conflicts).collect();
        assert_eq!(conflicts, [0, 0, 0]);
        let appended = told(&reports).flatten().count();
        assert_eq!(appended, rounds * callers);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_projection_sees_one_snapshot() {
    for callers in CALLERS {
        let log = fresh_log().await;
        let rounds = effort(300).div_ceil(callers);
        let reports = everywhere(&log, &Task::Pair { rounds }, callers).await;
        let store = connect(&log).await;
        let written = positions(&read(&store, &tag(PAIR[0])).await);
        let present: HashMap<u64, u64> = written.iter().copied().zip(1..).collect();
        for answer in told(&reports).flatten() {
            let Told::Counted { counts, after } = *answer else {
                continue;
            };
            // Each pair is at an odd position and the next; a head is the end of one.
            let expected = if after == 0 { 0 } else { present[&(after - 1)] };
            assert_eq!(counts, [expected; 2], "after {after}");
        }
        store.close().await;
    }
}
