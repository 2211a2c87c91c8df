use std::collections::BTreeMap;
use std::time::SystemTime;

use uuid::Uuid;

use super::matcher::{is_in_range, matches};
use crate::event::whole_micros;
use crate::{
    Append, AppendCondition, Appended, Bookmark, Error, Event, Position, Query, ReadOptions,
    RecordedCommand, SequencedEvent, Stats, Tracking,
};

#[derive(Debug, Default)]
pub(super) struct Log {
    /// The event at position `n` is at index `n - 1`.
    events: Vec<SequencedEvent>,
    tracked: BTreeMap<String, u64>,
    commands: Vec<RecordedCommand>,
    pub(super) stats: Stats,
    pub(super) is_closed: bool,
}

impl Log {
    pub(super) fn head(&self) -> Option<Position> {
        Position::new(self.events.len() as u64)
    }

    /// The last event.
    pub(super) fn last(&self) -> Option<Bookmark> {
        self.events.last().map(SequencedEvent::bookmark)
    }

    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.tracked.clear();
        self.commands.clear();
    }

    pub(super) fn tracked(&self, source: &str) -> Option<u64> {
        self.tracked.get(source).copied()
    }

    pub(super) fn all_tracked(&self) -> Result<Vec<Tracking>, Error> {
        let each = self.tracked.iter();
        each.map(|(source, position)| Tracking::new(source, *position))
            .collect()
    }

    pub(super) fn matching(&self, query: &Query) -> impl Iterator<Item = &SequencedEvent> {
        self.events
            .iter()
            .filter(move |event| matches(query, event))
    }

    /// Runs the checks that need the log, in the order that all backends share, then appends.
    pub(super) fn submit(
        &mut self,
        append: Append,
        recorded_at: SystemTime,
    ) -> Result<Appended, Error> {
        // Check the ids before the conditions: a repeated append would conflict with its own events.
        if let Some(appended) = self.appended_before(&append.events)? {
            return Ok(appended);
        }
        let afters = || {
            append
                .conditions
                .iter()
                .filter_map(|condition| condition.after)
        };
        // The smallest position first, because a batch of another backend finds it first.
        if let Some(replaced) = afters()
            .filter(|after| self.is_replaced(*after))
            .min_by_key(|after| after.position)
        {
            return Err(past_replaced(replaced));
        }
        afters().try_for_each(|after| self.check_within(after))?;
        self.check_tracking(append.tracking.as_ref())?;
        let allowed = self.check_conditions(&append.conditions);
        self.stats.conflicts += u64::from(allowed.is_err());
        allowed?;
        Ok(self.push(append, whole_micros(recorded_at)))
    }

    /// Returns the positions of the events if the log already has all of them.
    fn appended_before(&self, events: &[Event]) -> Result<Option<Appended>, Error> {
        let stored: Vec<Option<&SequencedEvent>> = events
            .iter()
            .map(|event| self.with_id(event.id()?))
            .collect();
        let Some(first) = stored.iter().flatten().next() else {
            return Ok(None);
        };
        let Some(all) = stored.iter().copied().collect::<Option<Vec<_>>>() else {
            return Err(Error::DuplicateId { id: first.id() });
        };
        match all
            .iter()
            .zip(events)
            .find(|(stored, event)| !stored.has_content_of(event))
        {
            Some((other, _)) => Err(Error::DuplicateId { id: other.id() }),
            None => Ok(Appended::found(
                all.iter().map(|event| event.position()).collect(),
            )),
        }
    }

    fn with_id(&self, id: Uuid) -> Option<&SequencedEvent> {
        self.events.iter().find(|event| event.id() == id)
    }

    /// Refuses a position beyond the head.
    fn check_within(&self, after: Bookmark) -> Result<(), Error> {
        let head = self.head();
        match head < Some(after.position) {
            true => Err(Error::AfterBeyondHead {
                after: after.position,
                head,
            }),
            false => Ok(()),
        }
    }

    /// Whether another event than the bookmark's is at its position.
    fn is_replaced(&self, after: Bookmark) -> bool {
        let mut events = self.events.iter();
        let there = events.find(|event| event.position() == after.position);
        there.is_some_and(|event| after.event_id.is_some_and(|id| id != event.id()))
    }

    fn check_tracking(&self, tracking: Option<&Tracking>) -> Result<(), Error> {
        let Some(tracking) = tracking else {
            return Ok(());
        };
        match self.tracked(tracking.source()) {
            Some(tracked) if tracking.position() <= tracked => Err(Error::AlreadyTracked {
                origin: tracking.source().to_owned(),
                tracked,
            }),
            _ => Ok(()),
        }
    }

    fn check_conditions(&self, conditions: &[AppendCondition]) -> Result<(), Error> {
        let conflict = self.events.iter().find_map(|event| {
            let position = event.position();
            let condition = conditions.iter().position(|condition| {
                // `None` is less than every `Some`, so without `after` all events count.
                Some(position) > Bookmark::position_of(condition.after)
                    && matches(&condition.fail_if_events_match, event)
            })?;
            Some(Error::Conflict {
                position,
                condition,
            })
        });
        conflict.map_or(Ok(()), Err)
    }

    fn push(&mut self, append: Append, recorded_at: SystemTime) -> Appended {
        let first = self.next_position();
        let count = append.events.len();
        self.stats.commits += 1;
        self.stats.appends += 1;
        self.stats.events += count as u64;
        self.stats.largest_batch = 1;
        // The command and its events have one time.
        let commanded_at = append.events.first().and_then(Event::recorded_at);
        for event in append.events {
            let position = self.next_position();
            let id = event.id_or_new();
            self.events
                .push(event.into_sequenced(position, recorded_at, id));
        }
        if let Some(tracking) = append.tracking {
            self.tracked
                .insert(tracking.source().to_owned(), tracking.position());
        }
        if let Some(command) = append.command {
            self.commands.push(command.into_recorded(
                first,
                count as u64,
                commanded_at.unwrap_or(recorded_at),
            ));
        }
        Appended::contiguous(first, count)
    }

    pub(super) fn commands(&self, after: Option<Position>, limit: u64) -> Vec<RecordedCommand> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let is_after = |command: &&RecordedCommand| Some(command.position()) > after;
        self.commands
            .iter()
            .filter(is_after)
            .take(limit)
            .cloned()
            .collect()
    }

    fn next_position(&self) -> Position {
        self.head().map_or(Position::FIRST, Position::next)
    }

    pub(super) fn read(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<Vec<SequencedEvent>, Error> {
        if let Some(after) = options.after {
            // In a backward read, `after` is only an upper bound, so any plain position is valid.
            if !options.backwards || after.event_id.is_some() {
                self.check_within(after)?;
            }
            if self.is_replaced(after) {
                return Err(past_replaced(after));
            }
        }
        let selected = self
            .matching(query)
            .filter(|event| is_in_range(options, event.position()))
            .cloned();
        let mut events: Vec<SequencedEvent> = selected.collect();
        if options.backwards {
            events.reverse();
        }
        if let Some(limit) = options.limit {
            events.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        Ok(events)
    }
}

fn past_replaced(after: Bookmark) -> Error {
    Error::PastReplaced {
        position: after.position,
    }
}
