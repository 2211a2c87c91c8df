//! Decisions that are committed together: one append with the events of all of them.

use std::mem;
use std::time::Instant;

use tokio::sync::oneshot;
use uuid::Uuid;

use super::Answer;
use crate::{Append, AppendCondition, Appended, Bookmark, Command, Error, Event, Position, Query};

/// A decision to append these events.
pub(crate) struct Decision {
    pub(crate) events: Vec<Event>,
    /// The conditions beside that of the lane.
    pub(crate) conditions: Vec<AppendCondition>,
    /// The command that caused the events. An append has one, so no other decision shares the commit.
    pub(crate) command: Option<Command>,
    /// When the caller's time ends.
    pub(crate) deadline: Instant,
}

/// The result of a decision.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// What it saw is committed, and so are its events, if it has any.
    Committed(Option<Appended>),
    /// Nothing was written, because what it saw has changed. Decide again.
    Again(Option<Position>),
    /// Nothing was written, because the lane knew too little when the call began. Decide again, on
    /// what a read returns.
    Outdated,
    Failed(Error),
}

/// The result of a group.
pub(super) enum GroupOutcome {
    /// The positions; `None` if the group has no events, and no other event matches.
    Committed(Option<Appended>),
    /// Nothing was written, because another writer appended an event at this position, or because
    /// an earlier group was not committed.
    Again(Option<Position>),
    Failed(Error),
    /// The group saw the log of this time, which has changed since. A member that was
    /// called later could not know; the others get the outcome.
    Changed(Option<Instant>, Box<GroupOutcome>),
}

/// Decisions in order, each on the state that the ones before it lead to.
#[derive(Default)]
pub(super) struct Group {
    members: Vec<Member>,
    events: Vec<Event>,
    /// The further conditions of the decisions.
    conditions: Vec<AppendCondition>,
    command: Option<Command>,
    /// The id of each event.
    ids: Vec<Uuid>,
    bytes: usize,
    /// When the time of the last caller ends.
    deadline: Option<Instant>,
    /// The indices of the events that match the query of the lane.
    matching: Vec<usize>,
}

struct Member {
    called: Instant,
    /// The number of its events. A member without events waits for what it saw.
    events: usize,
    answer: oneshot::Sender<Outcome>,
}

impl Group {
    /// A group with this many events takes no further decision.
    const FULL_EVENTS: usize = 500;
    /// A group of this size in bytes takes no further decision.
    const FULL_BYTES: usize = 4 << 20;
    /// A group with this many further conditions takes no further decision.
    const FULL_CONDITIONS: usize = 60;

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.events.len() >= Self::FULL_EVENTS
            || self.bytes >= Self::FULL_BYTES
            || self.conditions.len() >= Self::FULL_CONDITIONS
            || self.command.is_some()
    }

    /// The number of decisions that have events.
    pub(super) fn decisions(&self) -> usize {
        self.members
            .iter()
            .filter(|member| member.events > 0)
            .count()
    }

    /// Adds a member that waits for the commit of what it saw.
    pub(super) fn watch(&mut self, called: Instant) -> Answer {
        self.add_member(called, 0)
    }

    /// Whether one of these conditions fails because of an event of the group. The store does not
    /// check the conditions of an append against its own events.
    pub(super) fn breaks(&self, conditions: &[AppendCondition]) -> bool {
        let mut queries = conditions
            .iter()
            .map(|condition| &condition.fail_if_events_match);
        queries.any(|query| self.events.iter().any(|event| query.selects(event)))
    }

    /// Adds the decision of a call that began at `called`.
    pub(super) fn add(&mut self, called: Instant, decision: Decision, query: &Query) -> Answer {
        let answer = self.add_member(called, decision.events.len());
        self.conditions.extend(decision.conditions);
        self.command = decision.command;
        self.deadline = self.deadline.max(Some(decision.deadline));
        for event in decision.events {
            if query.selects(&event) {
                self.matching.push(self.events.len());
            }
            self.bytes += event.size_bytes();
            self.ids.push(event.id_or_new());
            self.events.push(event);
        }
        answer
    }

    fn add_member(&mut self, called: Instant, events: usize) -> Answer {
        let (answer, answered) = oneshot::channel();
        self.members.push(Member {
            called,
            events,
            answer,
        });
        Answer::new(answered)
    }

    /// The append of all decisions. Without events, only its condition is to be checked. Call it
    /// once.
    pub(super) fn append(&mut self, query: &Query, after: Option<Bookmark>) -> Append {
        let boundary = AppendCondition::fail_if(query.clone()).after(after);
        // Each event has its member's trace already.
        let mut append = Append::of(mem::take(&mut self.events))
            .condition(boundary)
            .conditions(mem::take(&mut self.conditions));
        append.command = self.command.take();
        append.deadline = self.deadline;
        append
    }

    /// The positions of the events that match the query of the lane.
    pub(super) fn matching_positions(&self, appended: &Appended) -> Vec<Position> {
        let positions: Vec<Position> = appended.positions().collect();
        let matching = self.matching.iter();
        matching
            .filter_map(|&index| positions.get(index).copied())
            .collect()
    }

    /// The last of these events, which are those of the group.
    pub(super) fn last(&self, appended: &Appended) -> Bookmark {
        Bookmark {
            position: appended.last(),
            event_id: self.ids.last().copied(),
        }
    }

    /// Tells each member what became of its decision.
    pub(super) fn answer(self, whole: &GroupOutcome) {
        let mut first = 0;
        for member in self.members {
            let own = first..first + member.events;
            first = own.end;
            let outcome = whole.of_member(member.called, &self.ids[own.clone()], own.start);
            // Sending fails only if the caller has left.
            let _ = member.answer.send(outcome);
        }
    }
}

impl GroupOutcome {
    /// The outcome of the member that was called at this time and has these events, beginning with the
    /// group's event `first`.
    fn of_member(&self, called: Instant, ids: &[Uuid], first: usize) -> Outcome {
        match self {
            Self::Committed(appended) => {
                let positions = appended.iter().flat_map(Appended::positions);
                let own = positions.skip(first).take(ids.len());
                Outcome::Committed(Appended::found(own.collect()))
            }
            Self::Again(position) => Outcome::Again(*position),
            Self::Changed(known_at, _) if *known_at < Some(called) => Outcome::Outdated,
            Self::Changed(_, outcome) => outcome.of_member(called, ids, first),
            // A member without events has nothing that could fail, but what it saw is not committed.
            Self::Failed(_) if ids.is_empty() => Outcome::Again(None),
            Self::Failed(Error::OutcomeUnknown { .. }) => {
                Outcome::Failed(Error::OutcomeUnknown { ids: ids.to_vec() })
            }
            Self::Failed(error) => Outcome::Failed(error.clone()),
        }
    }
}
