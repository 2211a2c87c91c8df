//! The line of a lane: who waits for the turn to decide, and who has it.

use std::collections::BTreeMap;
use std::mem;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use super::Lanes;

/// A place in the line. Later arrivals have larger tickets.
pub(super) type Ticket = u64;

/// Why a turn has ended before its decision. Nothing was recorded.
#[derive(Debug)]
pub(crate) enum TurnLost {
    /// The member took too long.
    Overtaken,
    /// A decision that the member saw was refused.
    Outdated,
}

#[derive(Default)]
pub(super) struct Line {
    next_ticket: Ticket,
    /// The members that wait for their turn, in order of arrival.
    places: BTreeMap<Ticket, Place>,
    turn: Option<HeldTurn>,
    /// The number of turns so far.
    turns: u64,
    /// The turn whose member has folded decisions that were refused meanwhile.
    outdated_turn: Option<u64>,
}

struct HeldTurn {
    number: u64,
    /// When others may overtake.
    until: Instant,
    /// Whether the member has looked at what is known.
    has_looked: bool,
    /// Whether the member has folded decisions that may not be committed yet.
    has_folded: bool,
}

struct Place {
    /// `None` if the member was woken, or has not asked for its turn yet.
    waker: Option<Waker>,
    /// When the member arrived or was woken last.
    since: Instant,
}

impl Place {
    fn new() -> Self {
        Self {
            waker: None,
            since: Instant::now(),
        }
    }

    fn wake(&mut self) -> Option<Waker> {
        let waker = self.waker.take()?;
        self.since = Instant::now();
        Some(waker)
    }

    /// Whether the member could have asked for its turn, but has not for a long time.
    fn is_unpolled(&self, now: Instant) -> bool {
        self.waker.is_none() && now > self.since + Lanes::TURN_LIMIT
    }
}

impl Line {
    /// Takes the last place.
    pub(super) fn arrive(&mut self) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.return_to(ticket);
        ticket
    }

    /// Takes an earlier place again.
    pub(super) fn return_to(&mut self, ticket: Ticket) {
        self.places.insert(ticket, Place::new());
    }

    /// Leaves the line.
    #[must_use]
    pub(super) fn leave(&mut self, ticket: Ticket) -> Option<Waker> {
        self.places.remove(&ticket);
        self.wake_first()
    }

    /// Frees what the members used. None is left.
    pub(super) fn rest(&mut self) {
        self.places = BTreeMap::new();
    }

    /// Whether the turn under way is the first of the lane, and no other member waits.
    pub(super) fn is_first_and_only(&self) -> bool {
        self.turns == 1 && self.places.is_empty()
    }

    /// Whether this member is the next one. A member that was passed over takes its place again.
    pub(super) fn is_next(&mut self, ticket: Ticket) -> bool {
        self.places.entry(ticket).or_insert_with(Place::new);
        self.turn.is_none() && self.places.keys().next() == Some(&ticket)
    }

    /// Gives the turn to this member, and returns the number of the turn.
    pub(super) fn begin_turn(&mut self, ticket: Ticket) -> u64 {
        self.places.remove(&ticket);
        self.turns += 1;
        self.turn = Some(HeldTurn {
            number: self.turns,
            until: Instant::now() + Lanes::TURN_LIMIT,
            has_looked: false,
            has_folded: false,
        });
        self.turns
    }

    /// Wakes this member once its turn may have come.
    pub(super) fn wait(&mut self, ticket: Ticket, cx: &Context<'_>) {
        if let Some(place) = self.places.get_mut(&ticket) {
            place.waker = Some(cx.waker().clone());
        }
    }

    /// The waker of the first member, if no turn is under way.
    pub(super) fn wake_first(&mut self) -> Option<Waker> {
        match self.turn {
            Some(_) => None,
            None => self.places.values_mut().next()?.wake(),
        }
    }

    /// Ends the turn under way if it takes too long, and passes over members that do not take their
    /// turn: their futures are held and not polled.
    #[must_use]
    pub(super) fn overtake(&mut self) -> Option<Waker> {
        let now = Instant::now();
        if self.turn.as_ref().is_some_and(|turn| now <= turn.until) {
            return None;
        }
        self.turn = None;
        while let Some(first) = self.places.first_entry()
            && first.get().is_unpolled(now)
        {
            first.remove();
        }
        self.wake_first()
    }

    pub(super) fn holds_turn(&self, number: u64) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.number == number)
    }

    /// The member whose turn it is looks at what is known. Returns whether this is its first look of the
    /// turn; `None` if the turn was overtaken.
    pub(super) fn look(&mut self, number: u64) -> Option<bool> {
        let turn = self.turn.as_mut().filter(|turn| turn.number == number)?;
        Some(!mem::replace(&mut turn.has_looked, true))
    }

    /// Ends this turn, if it was not overtaken.
    #[must_use]
    pub(super) fn end_turn(&mut self, number: u64) -> Option<Waker> {
        self.turn.take_if(|turn| turn.number == number)?;
        self.wake_first()
    }

    /// The others may overtake this turn after `time` from now.
    pub(super) fn extend_turn(&mut self, number: u64, time: Duration) {
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.number == number) {
            turn.until = Instant::now() + time;
        }
    }

    /// Notes that the member whose turn it is has folded decisions that may not be committed yet.
    pub(super) fn note_folded(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.has_folded = true;
        }
    }

    /// Ends the turn of a member that has folded decisions which are refused now.
    pub(super) fn end_outdated_turn(&mut self) {
        let outdated = self.turn.take_if(|turn| turn.has_folded);
        self.outdated_turn = outdated.map(|turn| turn.number).or(self.outdated_turn);
    }

    pub(super) fn why_lost(&self, number: u64) -> TurnLost {
        match self.outdated_turn == Some(number) {
            true => TurnLost::Outdated,
            false => TurnLost::Overtaken,
        }
    }
}
