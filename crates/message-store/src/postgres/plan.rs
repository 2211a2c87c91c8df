//! Which requests of a batch are sent, and what the server's answer means for each. No I/O.

use std::collections::{HashMap, HashSet};

use super::request::{Request, Verdict};
use crate::{Error, ExpectedVersion, GlobalPosition, Position, StreamWrite, Written};

/// Why the server refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Another transaction holds the lock of one of its categories.
    Locked,
    /// One of its ids is stored.
    Stored,
    /// One of its streams is elsewhere.
    Conflict,
}

/// What the server did with a batch.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The version before the batch of each stream that was sent, in order.
    pub(super) versions: Vec<Option<Position>>,
    /// Of each message that was written, in order.
    pub(super) global_positions: Vec<GlobalPosition>,
    /// By the index of the request.
    pub(super) refusals: HashMap<usize, Refusal>,
}

/// Why a request is not sent: its place is behind an earlier one of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// It expects a version of a stream that the earlier one writes to.
    Stream,
    /// It has an id of the earlier one.
    Id,
}

/// A plan for one batch.
#[derive(Debug)]
pub(super) struct Plan {
    held: Vec<Option<Held>>,
}

impl Plan {
    pub(super) fn of(batch: &[Request]) -> Self {
        if batch.len() == 1 {
            return Self { held: vec![None] };
        }
        let mut streams: HashSet<&str> = HashSet::new();
        let mut ids = HashSet::new();
        let held = batch.iter().map(|request| {
            let mut expecting = request.writes.iter().filter(expects);
            // Every id is taken in, whether or not the request is held.
            let taken = request.known_ids().filter(|id| !ids.insert(*id)).count() > 0;
            if taken {
                return Some(Held::Id);
            }
            if expecting.any(|write| streams.contains(write.stream.as_str())) {
                return Some(Held::Stream);
            }
            streams.extend(request.writes.iter().map(|write| write.stream.as_str()));
            None
        });
        Self {
            held: held.collect(),
        }
    }

    /// Whether the request's messages are sent. Its known ids are in any case.
    pub(super) fn is_sent(&self, index: usize) -> bool {
        self.held[index].is_none()
    }

    /// A verdict for each request. Those that are held come after all that were sent.
    pub(super) fn settle(&self, batch: &mut [Request], answer: Answer) -> Vec<Verdict> {
        let mut settling = Settling::new(answer);
        let mut verdicts: Vec<Option<Verdict>> = batch
            .iter_mut()
            .enumerate()
            .map(|(index, request)| self.is_sent(index).then(|| settling.sent(index, request)))
            .collect();
        for (index, verdict) in verdicts.iter_mut().enumerate() {
            if let Some(held) = self.held[index] {
                *verdict = Some(settling.held(index, held, &mut batch[index]));
            }
        }
        verdicts.into_iter().flatten().collect()
    }
}

/// Where the streams of a batch are, while its requests are settled one after the other.
struct Settling {
    sent_versions: std::vec::IntoIter<Option<Position>>,
    global_positions: std::vec::IntoIter<GlobalPosition>,
    refusals: HashMap<usize, Refusal>,
    versions: HashMap<String, Option<Position>>,
}

impl Settling {
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
        // Where another transaction writes, the version is not known.
        let known = (refusal != Some(Refusal::Locked)).then_some(&before);
        for (write, version) in request.writes.iter().zip(known.into_iter().flatten()) {
            let name = write.stream.as_str();
            if !self.versions.contains_key(name) {
                self.versions.insert(name.to_owned(), *version);
            }
        }
        match refusal {
            None => Verdict::Settled(Ok(self.written(request))),
            Some(Refusal::Locked) => Verdict::Locked(request.take()),
            Some(Refusal::Stored) => Verdict::Stored(request.take()),
            Some(Refusal::Conflict) => {
                let mut writes = request.writes.iter().zip(before);
                let conflict = writes.find_map(|(write, version)| conflict(write, version));
                Verdict::Settled(Err(conflict.unwrap_or(Error::Panicked)))
            }
        }
    }

    fn held(&self, index: usize, held: Held, request: &mut Request) -> Verdict {
        if self.refusals.get(&index) == Some(&Refusal::Stored) {
            return Verdict::Stored(request.take());
        }
        let version_of = |write: &StreamWrite| self.versions.get(write.stream.as_str()).copied();
        // The first stream that is elsewhere: what comes behind one that is not known, may not be it.
        let expecting = request.writes.iter().filter(expects);
        let mut conflicts = expecting.map_while(|write| Some(conflict(write, version_of(write)?)));
        match conflicts.find_map(|conflict| conflict) {
            Some(conflict) if held == Held::Stream => Verdict::Settled(Err(conflict)),
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
