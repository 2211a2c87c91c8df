//! Decides which requests of a batch are sent, and turns the server's answer into verdicts. Does no
//! I/O.
//!
//! Invariant: a deferred request gets a verdict only from versions that the server read under the
//! category's lock. Otherwise it is submitted again (tests: `plan/tests.rs`).

use std::collections::{HashMap, HashSet};

use super::request::{Request, Verdict};
use crate::{Error, ExpectedVersion, Fault, GlobalPosition, Position, StreamWrite, Written};

/// Why the server rejected a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Another transaction holds the lock of one of its categories.
    Locked,
    /// One of its ids is already stored.
    Stored,
    /// One of its streams has another version than expected.
    Conflict,
}

/// The server's answer to a batch.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The version of each sent stream before the batch, in order.
    pub(super) versions: Vec<Option<Position>>,
    /// The global positions of the written messages, in order.
    pub(super) global_positions: Vec<GlobalPosition>,
    /// The rejected requests, by index.
    pub(super) refusals: HashMap<usize, Refusal>,
}

/// Why a request is not sent with its batch: it depends on an earlier request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deferral {
    /// It expects a version of a stream that the earlier request writes to.
    Stream,
    /// It has an id that the earlier request also has.
    Id,
}

/// The plan for one batch.
#[derive(Debug)]
pub(super) struct Plan {
    /// One entry per request: `None` if the request is sent.
    deferrals: Vec<Option<Deferral>>,
}

impl Plan {
    pub(super) fn new(batch: &[Request]) -> Self {
        // The usual case of a single caller needs no sets.
        if batch.len() == 1 {
            return Self {
                deferrals: vec![None],
            };
        }
        let mut streams: HashSet<&str> = HashSet::new();
        let mut ids = HashSet::new();
        let deferrals = batch.iter().map(|request| {
            let mut expecting = request.writes.iter().filter(expects);
            // `count` consumes the iterator: all ids must be inserted, even if the first is
            // repeated.
            let has_repeated_id = request.known_ids().filter(|id| !ids.insert(*id)).count() > 0;
            if has_repeated_id {
                return Some(Deferral::Id);
            }
            if expecting.any(|write| streams.contains(write.stream.as_str())) {
                return Some(Deferral::Stream);
            }
            // Only a sent request gets here. A deferred request writes nothing in this batch.
            streams.extend(request.writes.iter().map(|write| write.stream.as_str()));
            None
        });
        Self {
            deferrals: deferrals.collect(),
        }
    }

    /// Whether the request's messages are sent. The ids that its caller chose are always sent.
    pub(super) fn is_sent(&self, index: usize) -> bool {
        self.deferrals[index].is_none()
    }

    /// The verdict for each request.
    pub(super) fn verdicts(&self, batch: &mut [Request], answer: Answer) -> Vec<Verdict> {
        let mut judge = Judge::new(answer);
        let mut verdicts: Vec<Option<Verdict>> = batch
            .iter_mut()
            .enumerate()
            .map(|(index, request)| self.is_sent(index).then(|| judge.sent(index, request)))
            .collect();
        // Judge deferred requests last, because they are judged by the versions after the whole
        // batch.
        for (index, verdict) in verdicts.iter_mut().enumerate() {
            if let Some(deferral) = self.deferrals[index] {
                *verdict = Some(judge.deferred(index, deferral, &mut batch[index]));
            }
        }
        verdicts.into_iter().flatten().collect()
    }
}

/// Judges the requests of a batch in order and tracks the versions of their streams.
struct Judge {
    sent_versions: std::vec::IntoIter<Option<Position>>,
    global_positions: std::vec::IntoIter<GlobalPosition>,
    refusals: HashMap<usize, Refusal>,
    /// The version of each stream after the requests judged so far, if it is known.
    versions: HashMap<String, Option<Position>>,
}

impl Judge {
    fn new(answer: Answer) -> Self {
        Self {
            sent_versions: answer.versions.into_iter(),
            global_positions: answer.global_positions.into_iter(),
            refusals: answer.refusals,
            versions: HashMap::new(),
        }
    }

    fn sent(&mut self, index: usize, request: &mut Request) -> Verdict {
        let before = self.sent_versions.by_ref().take(request.writes.len());
        let before: Vec<Option<Position>> = before.collect();
        let refusal = self.refusals.get(&index).copied();
        // While another transaction holds the lock, it may be changing the version.
        let known = (refusal != Some(Refusal::Locked)).then_some(&before);
        for (write, version) in request.writes.iter().zip(known.into_iter().flatten()) {
            let name = write.stream.as_str();
            // `contains_key` before `insert`, so that only a stream's first entry allocates its
            // name.
            if !self.versions.contains_key(name) {
                self.versions.insert(name.to_owned(), *version);
            }
        }
        match refusal {
            None => Verdict::Done(Ok(self.written(request))),
            Some(Refusal::Locked) => Verdict::Locked(request.take()),
            Some(Refusal::Stored) => Verdict::Stored(request.take()),
            Some(Refusal::Conflict) => {
                let mut writes = request.writes.iter().zip(before);
                let conflict = writes.find_map(|(write, version)| conflict(write, version));
                // The server found a conflict that its own versions don't show: a bug.
                Verdict::Done(Err(conflict.unwrap_or(Error::Fault(Fault::Panicked))))
            }
        }
    }

    fn deferred(&self, index: usize, deferral: Deferral, request: &mut Request) -> Verdict {
        if self.refusals.get(&index) == Some(&Refusal::Stored) {
            return Verdict::Stored(request.take());
        }
        let known_version = |write: &StreamWrite| self.versions.get(write.stream.as_str()).copied();
        // The error names the first stream with a conflict. The search ends at a stream of unknown
        // version, because that stream may be the first with a conflict.
        let expecting = request.writes.iter().filter(expects);
        let mut conflicts =
            expecting.map_while(|write| Some(conflict(write, known_version(write)?)));
        match conflicts.find_map(|conflict| conflict) {
            Some(conflict) if deferral == Deferral::Stream => Verdict::Done(Err(conflict)),
            // A request with a repeated id also gets here, even if its version conflicts. The
            // earlier request may have stored the id, and stored ids are checked before versions.
            _ => Verdict::Again(request.take()),
        }
    }

    fn written(&mut self, request: &Request) -> Vec<Written> {
        let mut written = Vec::with_capacity(request.ids.len());
        for write in &request.writes {
            let Some(version) = self.versions.get_mut(write.stream.as_str()) else {
                continue;
            };
            for global_position in self.global_positions.by_ref().take(write.messages.len()) {
                let position = version.map_or(Position::START, Position::next);
                *version = Some(position);
                written.push(Written {
                    position,
                    global_position,
                });
            }
        }
        written
    }
}

fn expects(write: &&StreamWrite) -> bool {
    write.expected_version != ExpectedVersion::Any
}

fn conflict(write: &StreamWrite, actual: Option<Position>) -> Option<Error> {
    if write.expected_version.allows(actual) {
        return None;
    }
    Some(Error::WrongExpectedVersion {
        stream: write.stream.as_str().to_owned(),
        expected: write.expected_version,
        actual,
    })
}

#[cfg(test)]
mod tests;
