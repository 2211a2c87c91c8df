//! The replay of a log.

use std::collections::HashMap;

use uuid::Uuid;

use super::{Decision, Ledger, MARK, Refusal};
use dcb_core::{Query, SequencedEvent};

/// Counts of a checked run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Events in the log that decisions wrote.
    pub decided_events: usize,
    /// Acknowledged appends.
    pub acknowledged: usize,
    /// Appends that failed with a conflict.
    pub conflicts: usize,
    /// Appends that failed otherwise and wrote nothing.
    pub failed: usize,
    /// Appends whose outcome the store does not know.
    pub unknown: usize,
}

/// A fault in a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// The positions are not 1, 2, 3 and so on.
    #[error("expected position {expected}, found {position}")]
    NotDense {
        /// The position found.
        position: u64,
        /// The position that is missing.
        expected: u64,
    },
    /// Two events have the same id.
    #[error("event {id} is stored at positions {first} and {second}")]
    Repeated {
        /// The id.
        id: Uuid,
        /// The first position.
        first: u64,
        /// The second position.
        second: u64,
    },
    /// An append is incomplete, or other events lie between its events.
    #[error("the append is torn at position {position}")]
    Torn {
        /// The first position that does not hold the expected event.
        position: u64,
    },
    /// A count of a decision disagrees with the log before the decision.
    #[error(
        "the decision at position {position} counted {counted} events of {query:?}, the log has {present}"
    )]
    WrongCount {
        /// The position of the event.
        position: u64,
        /// The count of the decision.
        counted: u64,
        /// The count in the log before the decision.
        present: u64,
        /// The query that both counts are for.
        query: Query,
    },
    /// A decision without events saw a count that the log had at no time of its call.
    #[error(
        "a refusal between the heads {heads:?} counted {counted} events of {query:?}, the log had {present:?}"
    )]
    WrongRefusal {
        /// The heads of the log before and after the call.
        heads: [u64; 2],
        /// The count of the decision.
        counted: u64,
        /// The counts in the log at these heads.
        present: [u64; 2],
        /// The query that the counts are for.
        query: Query,
    },
    /// The data of an event differs from the appended data.
    #[error("the event at position {position} differs from the appended event")]
    Corrupt {
        /// The position of the event.
        position: u64,
    },
    /// An acknowledged event is missing from its position.
    #[error("event {id} was acknowledged at position {position} but is not there")]
    Lost {
        /// The id.
        id: Uuid,
        /// The acknowledged position.
        position: u64,
    },
    /// An event of a refused append is in the log.
    #[error("event {id} was refused but is stored at position {position}")]
    Resurrected {
        /// The id.
        id: Uuid,
        /// The position of the event.
        position: u64,
    },
}

/// Replays a whole log and compares it with the ledgers of its workers.
///
/// The log may contain other events; counts include them, and nothing else about them is checked.
/// The ledgers of killed workers may be missing; their events in the log are still checked. The
/// running time grows with the square of the length of the log.
///
/// # Errors
/// The first violation found.
pub fn check(log: &[SequencedEvent], ledgers: &[Ledger]) -> Result<Summary, Violation> {
    check_dense(log)?;
    let positions = positions_by_id(log)?;
    let decisions = decisions(log)?;
    check_whole(&decisions)?;
    for (index, decision) in decisions.iter().enumerate() {
        if let Some(decision) = decision {
            check_counts(log, index, decision)?;
        }
    }
    for refusal in ledgers.iter().flat_map(|ledger| &ledger.refusals) {
        check_refusal(log, refusal)?;
    }
    for ledger in ledgers {
        check_ledger(ledger, &positions)?;
    }
    let sum = |count: fn(&Ledger) -> usize| ledgers.iter().map(count).sum();
    Ok(Summary {
        decided_events: decisions.iter().flatten().count(),
        acknowledged: sum(|ledger| ledger.acknowledged.len()),
        conflicts: sum(|ledger| ledger.conflicts.len()),
        failed: sum(|ledger| ledger.failed.len()),
        unknown: sum(|ledger| ledger.unknown.len()),
    })
}

fn check_dense(log: &[SequencedEvent]) -> Result<(), Violation> {
    for (event, expected) in log.iter().zip(1..) {
        let position = event.position().get();
        if position != expected {
            return Err(Violation::NotDense { position, expected });
        }
    }
    Ok(())
}

fn positions_by_id(log: &[SequencedEvent]) -> Result<HashMap<Uuid, u64>, Violation> {
    let mut positions = HashMap::with_capacity(log.len());
    for event in log {
        let (id, second) = (event.id(), event.position().get());
        if let Some(first) = positions.insert(id, second) {
            return Err(Violation::Repeated { id, first, second });
        }
    }
    Ok(positions)
}

/// The decision behind each event of the log, `None` for events that no decision wrote.
fn decisions(log: &[SequencedEvent]) -> Result<Vec<Option<Decision>>, Violation> {
    let decision = |event: &SequencedEvent| match event.metadata_value(MARK) {
        None => Ok(None),
        Some(_) => event.json().map(Some).map_err(|_| Violation::Corrupt {
            position: event.position().get(),
        }),
    };
    log.iter().map(decision).collect()
}

/// Checks that the events of each append are complete and consecutive.
fn check_whole(decisions: &[Option<Decision>]) -> Result<(), Violation> {
    let mut index = 0;
    while index < decisions.len() {
        let Some(first) = &decisions[index] else {
            index += 1;
            continue;
        };
        // An append that lost its first events also fails here, because `index` must start at 0.
        for offset in 0..first.len {
            let expected = Decision {
                index: offset,
                ..first.clone()
            };
            if decisions.get(index + offset) != Some(&Some(expected)) {
                return Err(Violation::Torn {
                    position: (index + offset + 1) as u64,
                });
            }
        }
        index += first.len;
    }
    Ok(())
}

/// Checks the counts of the decision behind the event at `index`.
fn check_counts(
    log: &[SequencedEvent],
    index: usize,
    decision: &Decision,
) -> Result<(), Violation> {
    let position = log[index].position().get();
    // Excludes the earlier events of the same append, which the decision could not see.
    let before = &log[..index - decision.index];
    for count in &decision.counts {
        let query = count
            .boundary
            .query()
            .map_err(|_| Violation::Corrupt { position })?;
        let present = before.iter().filter(|event| query.matches(event)).count() as u64;
        if count.events != present {
            return Err(Violation::WrongCount {
                position,
                counted: count.events,
                present,
                query,
            });
        }
    }
    Ok(())
}

/// Checks that the log had the count at some time between the heads. Each event adds at most 1.
fn check_refusal(log: &[SequencedEvent], refusal: &Refusal) -> Result<(), Violation> {
    let Refusal { count, heads } = refusal;
    let corrupt = |_| Violation::Corrupt { position: heads[1] };
    let query = count.boundary.query().map_err(corrupt)?;
    let present = heads.map(|head| {
        let before = log.iter().take(head as usize);
        before.filter(|event| query.matches(event)).count() as u64
    });
    match (present[0]..=present[1]).contains(&count.events) {
        true => Ok(()),
        false => Err(Violation::WrongRefusal {
            heads: *heads,
            counted: count.events,
            present,
            query,
        }),
    }
}

fn check_ledger(ledger: &Ledger, positions: &HashMap<Uuid, u64>) -> Result<(), Violation> {
    for append in &ledger.acknowledged {
        for (&id, position) in append.ids.iter().zip(append.first..) {
            if positions.get(&id) != Some(&position) {
                return Err(Violation::Lost { id, position });
            }
        }
    }
    // Appends with unknown outcome are not checked here, because either outcome is correct.
    let failed = ledger.failed.iter().map(|append| &append.ids);
    for &id in ledger.conflicts.iter().chain(failed).flatten() {
        if let Some(&position) = positions.get(&id) {
            return Err(Violation::Resurrected { id, position });
        }
    }
    Ok(())
}
