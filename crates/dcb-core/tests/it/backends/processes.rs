//! Races between callers in three processes.

use std::collections::HashMap;

use conformance_suite::effort;
use dcb_conformance::{CALLERS, checker};
use dcb_core::{Bookmark, Query, ReadOptions, SequencedEvent};
use tokio::sync::watch;

use super::on_each_backend;
use crate::support::backend::SharedStore;
use crate::support::events::{positions, read, tag, whole_log};
use crate::support::tasks::{Answer, PAIR, Report, SHARED, Task, rooms};
use crate::support::workers::in_three_processes;

on_each_backend! {
    one_of_many_callers_wins_a_condition
    condition_with_two_items_conflicts_on_either
    decision_over_two_entities_is_protected
    decisions_agree_with_replayed_log
    paging_reader_misses_no_event
    disjoint_boundaries_never_conflict
    concurrent_projection_reads_one_snapshot
}

/// Asserts that one append per round succeeded and the others conflict with its position.
fn assert_one_winner_a_round(reports: &[Report], rounds: usize) {
    for round in 0..rounds {
        let of_round: Vec<Answer> = answers(reports).map(|answers| answers[round]).collect();
        let first = |answer: &Answer| match answer {
            Answer::Appended { first } => Some(*first),
            _ => None,
        };
        let winners: Vec<u64> = of_round.iter().filter_map(first).collect();
        let [position] = winners[..] else {
            panic!("round {round} has winners at {winners:?}");
        };
        for answer in of_round.iter().filter(|answer| first(answer).is_none()) {
            assert_eq!(*answer, Answer::Conflict { position }, "in round {round}");
        }
    }
}

/// The answers to each caller.
fn answers(reports: &[Report]) -> impl Iterator<Item = &Vec<Answer>> {
    reports.iter().flat_map(|report| &report.answers)
}

/// Decides in all processes and checks each decision against the log.
pub(crate) async fn assert_decisions_hold<S: SharedStore>(
    log: &S::Log,
    callers: usize,
    decisions: usize,
) {
    let seed = callers as u64;
    println!("{callers} callers decide with seed {seed}");
    let decisions = decisions.div_ceil(callers);
    let reports = in_three_processes::<S>(log, &Task::Decide { seed, decisions }, callers).await;
    let ledgers: Vec<_> = reports
        .into_iter()
        .flat_map(|report| report.ledgers)
        .collect();
    let store = S::connect(log).await;
    let summary = checker::check(&whole_log(&store).await, &ledgers).unwrap();
    assert!(summary.acknowledged > 0, "{summary:?}");
    assert_eq!((summary.failed, summary.unknown), (0, 0), "{ledgers:?}");
    assert!(
        ledgers.iter().all(|ledger| ledger.unread.is_empty()),
        "{ledgers:?}"
    );
    store.close().await;
}

async fn one_of_many_callers_wins_a_condition<S: SharedStore>() {
    for callers in CALLERS {
        let log = S::fresh_log().await;
        let rounds = effort(10);
        let reports =
            in_three_processes::<S>(&log, &Task::Contend { rounds, sides: 1 }, callers).await;
        assert_one_winner_a_round(&reports, rounds);
    }
}

async fn condition_with_two_items_conflicts_on_either<S: SharedStore>() {
    for callers in CALLERS {
        let log = S::fresh_log().await;
        let rounds = effort(10);
        let reports =
            in_three_processes::<S>(&log, &Task::Contend { rounds, sides: 2 }, callers).await;
        assert_one_winner_a_round(&reports, rounds);
    }
}

async fn decision_over_two_entities_is_protected<S: SharedStore>() {
    for callers in CALLERS {
        let log = S::fresh_log().await;
        let (rounds, seats) = (effort(10), callers as u64 / 2);
        let reports = in_three_processes::<S>(&log, &Task::Book { rounds, seats }, callers).await;
        let store = S::connect(&log).await;
        for round in 0..rounds {
            let booked = answers(&reports)
                .filter(|answers| matches!(answers[round], Answer::Appended { .. }))
                .count() as u64;
            let [left, right] = rooms(round).map(|room| tag(&room));
            let taken = store.count(&left.or(right)).await.unwrap();
            assert_eq!((booked, taken), (seats, seats), "in round {round}");
        }
        store.close().await;
    }
}

async fn decisions_agree_with_replayed_log<S: SharedStore>() {
    for callers in CALLERS {
        let log = S::fresh_log().await;
        assert_decisions_hold::<S>(&log, callers, effort(400)).await;
    }
}

/// Pages by position until the writers are done and no events are left. Returns all events read.
async fn follow<S: SharedStore>(
    store: S,
    query: Query,
    options: ReadOptions,
    done: watch::Receiver<bool>,
) -> Vec<SequencedEvent> {
    let mut seen: Vec<SequencedEvent> = Vec::new();
    let mut after: Option<Bookmark> = None;
    loop {
        let last = *done.borrow();
        let page = store.query(&query, options.after(after)).await.unwrap();
        let [head, before] = [page.head, after].map(Bookmark::position_of);
        assert!(head >= before, "the head moved back to {head:?}");
        let full = options.limit == Some(page.events.len() as u64);
        after = match page.events.last() {
            Some(event) if full => Some(event.bookmark()),
            _ => page.head,
        };
        seen.extend(page.events);
        if last && !full {
            store.close().await;
            return seen;
        }
    }
}

async fn paging_reader_misses_no_event<S: SharedStore>() {
    for callers in CALLERS {
        let log = S::fresh_log().await;
        let (done, is_done) = watch::channel(false);
        let kinds = [
            (Query::all(), ReadOptions::new()),
            (Query::all(), ReadOptions::new().limit(7)),
            (tag(SHARED), ReadOptions::new()),
        ];
        let mut readers = Vec::new();
        for (query, options) in kinds {
            let reader = follow(
                S::connect(&log).await,
                query.clone(),
                options,
                is_done.clone(),
            );
            readers.push((query, tokio::spawn(reader)));
        }
        let rounds = (effort(600) as u64).div_ceil(callers as u64);
        in_three_processes::<S>(&log, &Task::Append { rounds }, callers).await;
        done.send(true).unwrap();
        let store = S::connect(&log).await;
        for (query, reader) in readers {
            let seen = reader.await.unwrap();
            assert_eq!(seen, read(&store, &query).await, "{query:?}");
        }
        let log = positions(&whole_log(&store).await);
        assert_eq!(log, (1..=log.len() as u64).collect::<Vec<_>>());
        store.close().await;
    }
}

async fn disjoint_boundaries_never_conflict<S: SharedStore>() {
    for callers in CALLERS {
        let log = S::fresh_log().await;
        let rounds = effort(400).div_ceil(callers);
        let reports = in_three_processes::<S>(&log, &Task::Keep { rounds }, callers).await;
        let conflicts: Vec<u64> = reports.iter().map(|report| report.conflicts).collect();
        assert_eq!(conflicts, [0, 0, 0]);
        let appended = answers(&reports).flatten().count();
        assert_eq!(appended, rounds * callers);
    }
}

async fn concurrent_projection_reads_one_snapshot<S: SharedStore>() {
    for callers in CALLERS {
        let log = S::fresh_log().await;
        let rounds = effort(300).div_ceil(callers);
        let reports = in_three_processes::<S>(&log, &Task::Pair { rounds }, callers).await;
        let store = S::connect(&log).await;
        let written = positions(&read(&store, &tag(PAIR[0])).await);
        let present: HashMap<u64, u64> = written.iter().copied().zip(1..).collect();
        for answer in answers(&reports).flatten() {
            let Answer::Counted { counts, after } = *answer else {
                continue;
            };
            // Pairs start at odd positions, so every head is the second position of a pair.
            let expected = if after == 0 { 0 } else { present[&(after - 1)] };
            assert_eq!(counts, [expected; 2], "after {after}");
        }
        store.close().await;
    }
}
