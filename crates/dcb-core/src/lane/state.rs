//! The state machine of a lane. It does no I/O, takes no lock and wakes no task: each step returns
//! what to wake and to answer after the lock is released.

use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use super::group::{Decision, Group, GroupOutcome};
use super::known::{Folded, Known, Unfolded};
use super::line::{Line, Ticket, TurnLost};
use super::pause::pause;
use super::{Answer, Lanes};
use crate::event::whole_micros;
use crate::{
    Append, Appended, Bookmark, Error, Event, Fault, KeptState, Query, SequencedEvent, Upcasts,
};

/// What a member needs its turn for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To decide on what the members before it have decided.
    Decide,
    /// The same, in a commit without other decisions.
    DecideWithCommand,
    /// To read, decide and append by itself, while no other decision is under way.
    Alone,
}

pub(super) struct State {
    pub(super) line: Line,
    /// Members that have not left, wherever they are.
    members: usize,
    query: Query,
    /// How reads change the events of the log.
    upcasts: Option<Arc<Upcasts>>,
    /// Whether the lane rests when its members have left.
    can_rest: bool,
    pub(super) known: Known,
    /// The decisions of the next commit.
    collecting: Group,
    in_flight: Option<InFlight>,
    /// How many of the next decisions are committed one by one, because the commit of a group of
    /// them failed.
    one_by_one: usize,
    /// The number of conflicts since the last commit.
    conflicts: u32,
    /// Whether another process has appended since the lane read last. Then the lane reads what is new
    /// after a rest: an append that is refused costs more.
    has_rival: bool,
}

/// The decisions whose commit is under way.
struct InFlight {
    group: Group,
    begun: Instant,
}

/// What a member does before it decides.
pub(crate) enum Start {
    /// Pause, read the events after this one, and begin again.
    Read {
        after: Option<Bookmark>,
        pause: Duration,
        /// No other member needs the events, so they are not to be kept.
        is_alone: bool,
    },
    /// Fold these events. They end with those that are decided but not committed.
    Fold(Unfolded),
}

/// What follows a decision.
pub(crate) enum Next {
    /// This member commits the group that holds its decision.
    Commit(Append, Answer),
    /// Another member does, or has begun to.
    Wait(Answer),
    /// The decision has no events, and what it saw is the state of the log.
    Done,
    /// A decision that is not committed breaks one of the member's further conditions. Decide again
    /// after it.
    Again(Answer),
}

/// What follows the end of a commit.
#[derive(Default)]
pub(super) struct CommitEnd {
    /// The next group.
    pub(super) next: Option<Append>,
    /// What to tell the members of these groups.
    pub(super) answers: Vec<(Group, GroupOutcome)>,
    /// The member whose turn may have come.
    pub(super) woken: Option<Waker>,
}

impl State {
    pub(super) fn new(
        query: Query,
        upcasts: Option<Arc<Upcasts>>,
        can_rest: bool,
        keeps_state: bool,
    ) -> Self {
        Self {
            line: Line::default(),
            members: 0,
            query,
            upcasts,
            can_rest,
            known: Known::new(keeps_state),
            collecting: Group::default(),
            in_flight: None,
            one_by_one: 0,
            conflicts: 0,
            has_rival: false,
        }
    }

    /// Ends the work of members that have left. Returns the size of what is kept for the next ones;
    /// `None` if there is nothing to keep.
    pub(super) fn rest(&mut self) -> Option<usize> {
        self.line.rest();
        self.conflicts = 0;
        self.one_by_one = 0;
        if self.has_rival {
            self.known.expect_others();
        }
        self.known.rest().filter(|_| self.can_rest)
    }

    /// Whether no member is left, and no commit is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.members == 0 && self.nothing_is_pending()
    }

    pub(super) fn has_one_member(&self) -> bool {
        self.members == 1
    }

    /// A new member takes the last place in the line.
    pub(super) fn enter(&mut self) -> Ticket {
        self.members += 1;
        self.line.arrive()
    }

    /// A member leaves.
    #[must_use]
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<Waker> {
        self.members -= 1;
        self.line.leave(ticket)
    }

    /// The number of the turn, once it has come.
    pub(super) fn poll_turn(
        &mut self,
        ticket: Ticket,
        purpose: Purpose,
        cx: &mut Context<'_>,
    ) -> Poll<u64> {
        if self.line.is_next(ticket) && self.may_begin(purpose) {
            return Poll::Ready(self.line.begin_turn(ticket));
        }
        self.line.wait(ticket, cx);
        Poll::Pending
    }

    fn may_begin(&self, purpose: Purpose) -> bool {
        match purpose {
            Purpose::Decide if self.known.is_current() && self.one_by_one == 0 => {
                !self.collecting.is_full()
            }
            Purpose::DecideWithCommand if self.known.is_current() && self.one_by_one == 0 => {
                self.collecting.is_empty()
            }
            Purpose::Decide | Purpose::DecideWithCommand | Purpose::Alone => {
                self.nothing_is_pending()
            }
        }
    }

    fn nothing_is_pending(&self) -> bool {
        self.in_flight.is_none() && self.collecting.is_empty()
    }

    /// Ends the turn of a member that may have appended by itself, so the next member reads.
    #[must_use]
    pub(super) fn end_alone(&mut self, number: u64) -> Option<Waker> {
        if self.line.holds_turn(number) {
            self.known.discard_decided();
        }
        self.line.end_turn(number)
    }

    /// What to do before the decision, and whether this is the first look of the turn. `None` if the turn
    /// was overtaken.
    pub(super) fn begin(&mut self, number: u64, folded: &mut Folded) -> Option<(Start, bool)> {
        let is_first = self.line.look(number)?;
        if self.known.can_be_folded() {
            self.line.extend_turn(number, Lanes::TURN_LIMIT);
            self.line.note_folded();
            let events = self.known.unfolded(folded, self.known.len());
            return Some((Start::Fold(events), is_first));
        }
        let pause = pause(self.conflicts);
        self.line.extend_turn(number, pause + Lanes::READ_LIMIT);
        let after = self.known.before_read();
        let is_alone = after.is_none()
            && !self.can_rest
            && !self.known.keeps_state()
            && self.line.is_first_and_only();
        let read = Start::Read {
            after,
            pause,
            is_alone,
        };
        Some((read, is_first))
    }

    /// Whether the member is to give the lane the state that it has folded: it has seen all events, and
    /// they are all in the log.
    pub(super) fn wants_state(&self, number: u64) -> bool {
        self.line.holds_turn(number) && self.nothing_is_pending() && self.known.wants_state()
    }

    /// Takes the state of this member, if it still has its turn.
    pub(super) fn fold_into(&mut self, number: u64, state: Option<KeptState>) {
        if self.wants_state(number) {
            self.known.fold_into(state);
        }
    }

    /// This member has folded all events up to `head` into this state, and the lane keeps nothing else.
    pub(super) fn start_from(
        &mut self,
        begun: Instant,
        number: u64,
        state: KeptState,
        head: Option<Bookmark>,
        read: usize,
    ) {
        if self.line.holds_turn(number) && self.nothing_is_pending() {
            self.known.start_from(begun, state, head, read);
        }
    }

    /// The events up to `bookmark` lead to this state, if the log still has them. The member reads the
    /// others.
    pub(super) fn resume_from(&mut self, number: u64, state: KeptState, bookmark: Bookmark) {
        if self.line.holds_turn(number) && self.nothing_is_pending() {
            self.known.resume_from(state, bookmark);
        }
    }

    /// The log was replaced.
    pub(super) fn forget(&mut self, number: u64) {
        if self.line.holds_turn(number) {
            self.known.discard_all();
        }
    }

    /// Adds what a member has read after `after`. Also takes the read of a member that was overtaken:
    /// else slow reads would overtake each other for ever. Ignores a read that came too late.
    pub(super) fn add_read(
        &mut self,
        begun: Instant,
        after: Option<Bookmark>,
        events: Vec<SequencedEvent>,
        head: Option<Bookmark>,
    ) {
        let is_needed = !self.known.is_current() && self.known.read_to() == after;
        if is_needed && self.nothing_is_pending() {
            self.has_rival &= after.is_none() || !events.is_empty();
            self.known.add_read(begun, events, head);
        }
    }

    /// This member has folded all events up to `head`, and the lane keeps none: they are too many, or
    /// no other member waits. So the next member reads for itself, after this one's commit.
    pub(super) fn read_alone(&mut self, begun: Instant, number: u64, head: Option<Bookmark>) {
        if self.line.holds_turn(number) {
            self.known.give_up(begun, head);
        }
    }

    /// The events in the log that a waiting member has not folded yet.
    pub(super) fn committed(&self, folded: &mut Folded) -> Unfolded {
        self.known.unfolded(folded, self.known.committed())
    }

    /// Records the decision of a call that began at `called`, and ends its turn.
    pub(super) fn decide(
        &mut self,
        number: u64,
        called: Instant,
        decision: Decision,
    ) -> Result<(Next, Option<Waker>), TurnLost> {
        if !self.line.holds_turn(number) {
            return Err(self.line.why_lost(number));
        }
        let next = if decision.events.is_empty() {
            self.watch(called)
        } else if self.collecting.breaks(&decision.conditions) {
            Next::Again(self.collecting.watch(called))
        } else {
            self.collect(called, decision)
        };
        Ok((next, self.line.end_turn(number)))
    }

    /// A decision without events is valid if it saw the log of a time after its call began. A commit
    /// proves that for its members; without one, a read does.
    fn watch(&mut self, called: Instant) -> Next {
        if self.collecting.is_empty() {
            let is_fresh = self.known.is_proven_since(called);
            match &mut self.in_flight {
                None if is_fresh => return Next::Done,
                Some(commit) if is_fresh || commit.begun >= called => {
                    return Next::Wait(commit.group.watch(called));
                }
                _ => {}
            }
        }
        let answer = self.collecting.watch(called);
        self.commit_or_wait(answer)
    }

    fn collect(&mut self, called: Instant, mut decision: Decision) -> Next {
        let events = decision.events.into_iter().map(Event::with_new_id);
        decision.events = events.collect();
        let now = whole_micros(SystemTime::now());
        for event in decision
            .events
            .iter()
            .filter(|event| self.query.selects(event))
        {
            let upcasts = self.upcasts.as_deref();
            self.known.add_decided(event, now, upcasts);
        }
        let answer = self.collecting.add(called, decision, &self.query);
        self.commit_or_wait(answer)
    }

    fn commit_or_wait(&mut self, answer: Answer) -> Next {
        match self.in_flight {
            Some(_) => Next::Wait(answer),
            None => Next::Commit(self.take_group(), answer),
        }
    }

    fn take_group(&mut self) -> Append {
        let mut group = mem::take(&mut self.collecting);
        let append = group.append(&self.query, self.known.read_to());
        let begun = Instant::now();
        self.in_flight = Some(InFlight { group, begun });
        append
    }

    /// Ends the commit under way. It has no positions if it had no events.
    pub(super) fn settle(&mut self, result: Result<Option<Appended>, Error>) -> CommitEnd {
        let Some(InFlight { group, begun }) = self.in_flight.take() else {
            return CommitEnd::default();
        };
        self.one_by_one = self.one_by_one.saturating_sub(1);
        let conflict = match &result {
            Err(Error::Conflict { position, .. }) => Some(*position),
            _ => None,
        };
        let known_at = self.known.proven_at();
        let is_changed = self.is_changed(&result);
        let changed = |outcome| match is_changed {
            true => GroupOutcome::Changed(known_at, Box::new(outcome)),
            false => outcome,
        };
        let (outcome, is_as_seen) = self.outcome(&group, begun, result);
        let mut end = CommitEnd {
            answers: vec![(group, changed(outcome))],
            ..CommitEnd::default()
        };
        if !is_as_seen {
            self.line.end_outdated_turn();
            let group = mem::take(&mut self.collecting);
            let again = changed(GroupOutcome::Again(conflict));
            end.answers.push((group, again));
        } else if !self.collecting.is_empty() {
            end.next = Some(self.take_group());
        }
        end.woken = self.line.wake_first();
        end
    }

    /// Whether the commit failed because the lane's events are not those of the log any more.
    fn is_changed(&self, result: &Result<Option<Appended>, Error>) -> bool {
        match result {
            // The first condition is that of the lane.
            Err(Error::Conflict { condition, .. }) => *condition == 0,
            Err(failed) => failed.is_of_another_past(),
            Ok(_) => false,
        }
    }

    /// The outcome of a group, and whether the members after it have seen what is now in the log.
    fn outcome(
        &mut self,
        group: &Group,
        begun: Instant,
        result: Result<Option<Appended>, Error>,
    ) -> (GroupOutcome, bool) {
        match result {
            Ok(None) => {
                self.known.confirm(begun);
                (GroupOutcome::Committed(None), true)
            }
            // Its events were stored before, so what the members after it saw is not the log. No
            // condition was checked, so events of other writers may be before them.
            Ok(Some(appended)) if appended.is_found() => {
                self.known.discard_decided();
                (GroupOutcome::Committed(Some(appended)), false)
            }
            Ok(Some(appended)) => {
                self.conflicts = 0;
                let positions = group.matching_positions(&appended);
                let last = group.last(&appended);
                self.known.commit(begun, &positions, last);
                (GroupOutcome::Committed(Some(appended)), true)
            }
            Err(Error::Conflict {
                position,
                condition,
            }) => {
                self.conflicts += 1;
                self.has_rival |= condition == 0;
                self.known.discard_decided();
                (GroupOutcome::Again(Some(position)), false)
            }
            Err(error) if group.decisions() > 1 && may_be_of_one_member(&error) => {
                self.one_by_one = group.decisions();
                self.known.discard_decided();
                (GroupOutcome::Again(None), false)
            }
            Err(error) => {
                // The log may be another one, or hold the events.
                self.known.discard_all();
                (GroupOutcome::Failed(error), false)
            }
        }
    }
}

/// Whether nothing was written, for a reason that may lie in the events of a single member. A lock is that
/// of the log, so all members wait for it.
fn may_be_of_one_member(error: &Error) -> bool {
    matches!(
        error,
        Error::Invalid { .. }
            | Error::DuplicateId { .. }
            | Error::Fault(Fault::Refused(_) | Fault::Aborted(_))
    )
}
