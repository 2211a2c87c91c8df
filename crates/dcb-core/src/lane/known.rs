//! The matching events of a lane's boundary. Its members fold them instead of a read, and so do the next
//! ones after the lane has rested.

use std::time::{Instant, SystemTime};

use super::Lanes;
use super::events::{Events, Taken};
use crate::{Bookmark, Event, KeptState, Position, SequencedEvent, StateOptions, Upcasts};

/// The events that match the query of a lane: first those in the log, then those that members have
/// decided and that are not committed yet.
#[derive(Default)]
pub(super) struct Known {
    events: Events,
    /// The state that the events before `events` lead to. `None` if there is none before them.
    base: Option<KeptState>,
    /// Whether the lane keeps states: its members fold alike.
    keeps_state: bool,
    /// How many of `events` are in the log.
    committed: usize,
    bytes: usize,
    /// No event of another writer matches up to this one, beside those that were read.
    read_to: Option<Bookmark>,
    /// When the read or the commit that proved this began.
    proven_at: Option<Instant>,
    /// Whether members can decide on `events`. False before the first read, and when other writers
    /// may have appended events that match.
    is_current: bool,
    /// True if the lane does not keep the events up to `read_to` as a read returns them.
    has_gap: bool,
    /// Increases when events that a member may have folded are discarded.
    epoch: u64,
    /// The number of events that the state in the database lacks, if there is one.
    unstored: u64,
    /// Whether the database can't keep the state.
    is_not_storable: bool,
}

/// How many of a lane's events a member has folded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Folded {
    epoch: u64,
    events: usize,
}

/// The events that a member has to fold.
pub(crate) struct Unfolded {
    pub(crate) events: Taken,
    /// The state to start from; `None` for the initial one.
    pub(crate) base: Option<KeptState>,
    /// Whether to start again, because events that were folded are discarded.
    pub(crate) from_the_start: bool,
    /// Whether all of them are in the log. Others have a position and a time that are estimates.
    pub(crate) is_committed: bool,
}

impl Known {
    /// The maximum number of events that a lane keeps.
    pub(super) const MAX_EVENTS: usize = 10_000;
    /// The maximum size of the events that a lane keeps.
    pub(super) const MAX_BYTES: usize = 8 << 20;

    /// A state replaces this many events.
    const FOLDED_EVENTS: usize = 64;
    /// A state replaces events of this size.
    const FOLDED_BYTES: usize = 64 << 10;

    /// Bytes that the allocator adds to the content of an event.
    const EVENT_BYTES: usize = 16;

    /// The size of what is kept for later callers; `None` if it is not worth it. Nothing is pending.
    pub(super) fn rest(&self) -> Option<usize> {
        let is_read = self.is_current || self.read_to.is_some();
        let is_kept = is_read && !self.has_gap && !self.is_too_large();
        let base = self.base.as_ref().map_or(0, KeptState::size_bytes);
        let content = self.bytes + self.events.len() * Self::EVENT_BYTES;
        is_kept.then(|| base + content + self.events.size_bytes())
    }

    /// The next member reads what other writers may have appended.
    pub(super) fn expect_others(&mut self) {
        self.is_current = false;
    }

    /// Nothing: the lane has not read its boundary.
    pub(super) fn new(keeps_state: bool) -> Self {
        Self {
            keeps_state,
            ..Self::default()
        }
    }

    /// Whether the lane keeps states.
    pub(super) fn keeps_state(&self) -> bool {
        self.keeps_state
    }

    /// Whether the next member is to fold the events into a state that replaces them, if nothing is
    /// pending.
    pub(super) fn wants_state(&self) -> bool {
        let is_much = self.events.len() >= Self::FOLDED_EVENTS || self.bytes >= Self::FOLDED_BYTES;
        self.keeps_state && self.is_current && is_much
    }

    /// Replaces the events, which are all in the log, by the state that they lead to. Without one, the
    /// lane keeps events from now on.
    pub(super) fn fold_into(&mut self, state: Option<KeptState>) {
        self.keeps_state = state.is_some();
        if state.is_some() {
            self.base = state;
            self.events = Events::default();
            self.committed = 0;
            self.bytes = 0;
            self.epoch += 1;
        }
    }

    /// Knows nothing but the state that the events up to `head` lead to. A read that began at `begun` found
    /// `read` of them.
    pub(super) fn start_from(
        &mut self,
        begun: Instant,
        state: KeptState,
        head: Option<Bookmark>,
        read: usize,
    ) {
        let unstored = self.unstored;
        self.discard_all();
        self.unstored = unstored + read as u64;
        self.base = Some(state);
        self.proven_at = Some(begun);
        self.read_to = head;
        self.is_current = true;
    }

    /// Knows nothing but the state that the events up to `bookmark` lead to, by the database.
    pub(super) fn resume_from(&mut self, state: KeptState, bookmark: Bookmark) {
        self.discard_all();
        self.base = Some(state);
        self.read_to = Some(bookmark);
    }

    /// Whether the state in the database is due to be stored again.
    pub(super) fn is_unstored(&self, options: StateOptions) -> bool {
        !self.is_not_storable && options.is_due(self.unstored)
    }

    /// The state is stored from here.
    pub(super) fn expect_stored(&mut self) {
        self.unstored = 0;
    }

    /// The database can't keep the state.
    pub(super) fn store_no_more(&mut self) {
        self.is_not_storable = true;
    }

    /// Whether members can decide without a read, although there may be more events than a lane keeps.
    pub(super) fn can_be_folded(&self) -> bool {
        self.is_current() || self.wants_state()
    }

    /// Whether members can decide without a read.
    pub(super) fn is_current(&self) -> bool {
        self.is_current && !self.is_too_large()
    }

    /// Whether the events were all those of the log at some time after this.
    pub(super) fn is_proven_since(&self, time: Instant) -> bool {
        self.proven_at.is_some_and(|proven| proven >= time)
    }

    /// When the read or the commit began that proved what is known.
    pub(super) fn proven_at(&self) -> Option<Instant> {
        self.proven_at
    }

    /// The `after` of the next condition.
    pub(super) fn read_to(&self) -> Option<Bookmark> {
        self.read_to
    }

    fn is_too_large(&self) -> bool {
        !Lanes::can_keep(self.events.len(), self.bytes)
    }

    /// The number of events that are in the log.
    pub(super) fn committed(&self) -> usize {
        self.committed
    }

    /// The number of all events.
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// The events that are not folded yet, up to the first `end`. Moves `folded` behind them.
    pub(super) fn unfolded(&self, folded: &mut Folded, end: usize) -> Unfolded {
        let from_the_start = folded.epoch != self.epoch;
        let start = if from_the_start {
            0
        } else {
            folded.events.min(end)
        };
        *folded = Folded {
            epoch: self.epoch,
            events: end,
        };
        Unfolded {
            base: self.base.clone().filter(|_| from_the_start),
            events: self.events.take(start..end),
            from_the_start,
            is_committed: end <= self.committed,
        }
    }

    /// Prepares for a read. Returns the event after which to read; `None` for the whole boundary.
    pub(super) fn before_read(&mut self) -> Option<Bookmark> {
        if self.is_too_large() || self.has_gap {
            self.discard_all();
        }
        self.read_to
    }

    /// Adds what a read that began at `begun` has found after `read_to`.
    pub(super) fn add_read(
        &mut self,
        begun: Instant,
        events: Vec<SequencedEvent>,
        head: Option<Bookmark>,
    ) {
        self.proven_at = Some(begun);
        self.unstored += events.len() as u64;
        for event in events {
            self.add(event);
        }
        self.committed = self.events.len();
        self.read_to = head;
        self.is_current = true;
    }

    /// Keeps none of the events up to `head`, which a read found that began at `begun`.
    pub(super) fn give_up(&mut self, begun: Instant, head: Option<Bookmark>) {
        self.discard_all();
        self.proven_at = Some(begun);
        self.has_gap = true;
        self.read_to = head;
    }

    /// Adds an event that a member has decided, as a read will return it. Its position is an estimate
    /// until it is committed. If a read will fail, the members after it are to meet that failure.
    pub(super) fn add_decided(&mut self, event: &Event, at: SystemTime, upcasts: Option<&Upcasts>) {
        if !self.is_current {
            return;
        }
        let decided = self.events.len() - self.committed;
        let position =
            Position::number_or_zero(Bookmark::position_of(self.read_to)) + decided as u64 + 1;
        let position = Position::new(position).unwrap_or(Position::FIRST);
        let event = event.clone();
        let id = event.id_or_new();
        let event = event.into_sequenced(position, at, id);
        let upcast = upcasts.map(|upcasts| upcasts.apply(event.clone()));
        let event = match upcast {
            None => event,
            Some(Ok(event)) => event,
            Some(Err(_)) => {
                self.has_gap = true;
                self.is_current = false;
                event
            }
        };
        self.add(event);
    }

    fn add(&mut self, event: SequencedEvent) {
        self.bytes += event.size_bytes();
        self.events.push(event);
    }

    /// Notes that a commit that began at `begun` stored the first of the decided events at these
    /// positions, and that no event of another writer matches up to `last`.
    pub(super) fn commit(&mut self, begun: Instant, positions: &[Position], last: Bookmark) {
        self.proven_at = Some(begun);
        for (index, &position) in (self.committed..self.events.len()).zip(positions) {
            self.events.move_to(index, position);
            self.committed += 1;
            self.unstored += 1;
        }
        self.read_to = Some(last);
    }

    /// Notes that a check that began at `begun` has found no event after `read_to`.
    pub(super) fn confirm(&mut self, begun: Instant) {
        self.proven_at = Some(begun);
    }

    /// Discards the events that are not committed. The next member reads what other writers have
    /// appended.
    pub(super) fn discard_decided(&mut self) {
        let decided = self.events.take(self.committed..self.events.len());
        self.bytes -= decided
            .iter()
            .map(SequencedEvent::size_bytes)
            .sum::<usize>();
        drop(decided);
        self.events.truncate(self.committed);
        self.is_current = false;
    }

    /// Discards everything, so that the next member reads the boundary from its start.
    pub(super) fn discard_all(&mut self) {
        *self = Self {
            epoch: self.epoch + 1,
            is_not_storable: self.is_not_storable,
            ..Self::new(self.keeps_state)
        };
    }
}
