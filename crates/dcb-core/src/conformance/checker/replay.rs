use std::collections::HashMap;

use uuid::Uuid;

use super::{Decision, Ledger, MARK};
use crate::{Query, SequencedEvent};

/// What a checked run consisted of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The events of the log that decisions wrote.
    pub decided_events: usize,
    /// The appends that were acknowledged.
    pub acknowledged: usize,
    /// The appends that met a conflict.
    pub conflicts: usize,
    /// The appends that failed with nothing written.
    pub failed: usize,
    /// The appends whose outcome the store could not tell.
    pub unknown: usize,
}

/// What must not be in a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// The positions are not 1, 2, 3 and so on.
    #[error("position {position} is where {expected} is expected")]
    NotDense {
        /// The position found.
        position: u64,
        /// The position that is missing.
        expected: u64,
    },
    /// An id is there twice.
    #[error("the event {id} is at {first} and at {second}")]
    Repeated {
        /// The id.
        id: Uuid,
        /// Its first position.
        first: u64,
        /// Its second position.
        second: u64,
    },
    /// An append is there in part, or other events are between its events.
    #[error("the append at {position} is not whole")]
    Torn {
        /// The position of the first event that is out of place.
        position: u64,
    },
    /// A decision did not see what the log holds before it.
    #[error("the decision at {position} counted {counted} of {query:?}, there were {present}")]
    WrongCount {
        /// The position of the event.
        position: u64,
        /// What the decision counted.
        counted: u64,
        /// What the log holds before it.
        present: u64,
        /// What was counted.
        query: Query,
    },
    /// The data of an event is not what was appended.
    #[error("the event at {position} is not what was appended")]
    Corrupt {
        /// The position of the event.
        position: u64,
    },
    /// An acknowledged event is not at its position.
    #[error("the event {id} was acknowledged at {position} and is not there")]
    Lost {
        /// The id.
        id: Uuid,
        /// The position that was told.
        position: u64,
    },
    /// An event of a refused append is in the log.
    #[error("the event {id} was refused and is at {position}")]
    Resurrected {
        /// The id.
        id: Uuid,
        /// Its position.
        position: u64,
    },
}

/// Replays a whole log, and compares it with what its workers were told.
///
/// Events of others in the log are counted, and otherwise left alone. Ledgers of workers that were
/// killed may be missing: what they wrote is checked all the same. Takes time in proportion to the
/// square of the length of the log.
///
/// # Errors
/// The first violation.
pub fn check(log: &[SequencedEvent], ledgers: &[Ledger]) -> Result<Summary, Violation> {
    check_dense(log)?;
    let positions = positions_by_id(log)?;
    let decisions = decisions(log)?;
    check_whole(&decisions)?;
    for (index, decision) in decisions.iter().enumerate() {
        if let Some(decision) = decision {
            check_count(log, index, decision)?;
        }
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

/// What each event of the log says of its decision, `None` for events of others.
fn decisions(log: &[SequencedEvent]) -> Result<Vec<Option<Decision>>, Violation> {
    let decision = |event: &SequencedEvent| match event.metadata_value(MARK) {
        None => Ok(None),
        Some(_) => event.json().map(Some).map_err(|_| Violation::Corrupt {
            position: event.position().get(),
        }),
    };
    log.iter().map(decision).collect()
}

/// Each append is there whole: its events follow each other, from the first to the last.
fn check_whole(decisions: &[Option<Decision>]) -> Result<(), Violation> {
    let mut index = 0;
    while index < decisions.len() {
        let Some(first) = &decisions[index] else {
            index += 1;
            continue;
        };
        for offset in 0..first.of {
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
        index += first.of;
    }
    Ok(())
}

/// The decision counted what precedes the append of its event.
fn check_count(log: &[SequencedEvent], index: usize, decision: &Decision) -> Result<(), Violation> {
    let position = log[index].position().get();
    let query = decision
        .boundary
        .query()
        .map_err(|_| Violation::Corrupt { position })?;
    let before = &log[..index - decision.index];
    let present = before.iter().filter(|event| query.matches(event)).count() as u64;
    match decision.counted {
        counted if counted == present => Ok(()),
        counted => Err(Violation::WrongCount {
            position,
            counted,
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
    let failed = ledger.failed.iter().map(|append| &append.ids);
    for &id in ledger.conflicts.iter().chain(failed).flatten() {
        if let Some(&position) = positions.get(&id) {
            return Err(Violation::Resurrected { id, position });
        }
    }
    Ok(())
}
