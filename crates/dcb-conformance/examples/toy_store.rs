//! Implements an event store in a few lines, and tests it with the conformance suite.
//!
//! ```text
//! cargo test -p dcb-conformance --example toy_store
//! cargo run -p dcb-conformance --example toy_store
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dcb_core::{
    Append, AppendCondition, Appended, Bookmark, Error, Event, EventStore, EventStream, Fault,
    Health, Limits, Position, ProjectionLimit, Query, ReadOptions, RecordedCommand, SequencedEvent,
    Tracking,
};
use uuid::Uuid;

/// A list of events behind a lock.
#[derive(Default)]
struct ToyStore {
    limits: Limits,
    projections: ProjectionLimit,
    is_closed: AtomicBool,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    events: Vec<SequencedEvent>,
    tracked: HashMap<String, u64>,
    commands: Vec<RecordedCommand>,
}

impl ToyStore {
    fn log(&self) -> Result<MutexGuard<'_, Log>, Error> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        match self.is_closed.load(Ordering::Relaxed) {
            true => Err(Fault::Closed.into()),
            false => Ok(log),
        }
    }
}

impl Log {
    fn head(&self) -> Option<Position> {
        Position::new(self.events.len() as u64)
    }

    fn check_within(&self, after: Bookmark) -> Result<(), Error> {
        let (after, head) = (after.position, self.head());
        match Some(after) > head {
            true => Err(Error::AfterBeyondHead { after, head }),
            false => Ok(()),
        }
    }

    /// Whether another event than the bookmark's is at its position.
    fn is_replaced(&self, after: Bookmark) -> bool {
        let mut events = self.events.iter();
        let there = events.find(|event| event.position() == after.position);
        there.is_some_and(|event| after.event_id.is_some_and(|id| id != event.id()))
    }

    /// Refuses conditions on positions that the log does not have, or no longer has.
    fn check_afters(&self, conditions: &[AppendCondition]) -> Result<(), Error> {
        let afters = || conditions.iter().filter_map(|condition| condition.after);
        let replaced = afters().filter(|after| self.is_replaced(*after));
        match replaced.map(|after| after.position).min() {
            Some(position) => Err(Error::PastReplaced { position }),
            None => afters().try_for_each(|after| self.check_within(after)),
        }
    }

    /// Returns the positions of the events if the log already has all of them.
    fn appended_before(&self, events: &[Event]) -> Result<Option<Appended>, Error> {
        let mut found = Vec::new();
        let (mut first_stored, mut first_different) = (None, None);
        for event in events {
            let Some(id) = event.id() else { continue };
            let Some(stored) = self.events.iter().find(|stored| stored.id() == id) else {
                continue;
            };
            first_stored.get_or_insert(id);
            if !stored.has_content_of(event) {
                first_different.get_or_insert(id);
            }
            found.push(stored.position());
        }
        // If the log has only some of the events, the append is not a repeat, so even an event with
        // equal content is a duplicate.
        let duplicate = if found.len() < events.len() {
            first_stored
        } else {
            first_different
        };
        match duplicate {
            Some(id) => Err(Error::DuplicateId { id }),
            None => Ok(Appended::found(found)),
        }
    }

    /// Finds the first event of the log that makes a condition fail.
    fn check(&self, conditions: &[AppendCondition]) -> Result<(), Error> {
        let fails = |condition: &AppendCondition, event: &SequencedEvent| {
            Some(event.position()) > Bookmark::position_of(condition.after)
                && condition.fail_if_events_match.matches(event)
        };
        for event in &self.events {
            let failed = conditions
                .iter()
                .position(|condition| fails(condition, event));
            if let Some(condition) = failed {
                return Err(Error::Conflict {
                    position: event.position(),
                    condition,
                });
            }
        }
        Ok(())
    }

    fn submit(&mut self, append: Append) -> Result<Appended, Error> {
        // The order of the checks is part of the contract of `EventStore::submit`.
        if let Some(appended) = self.appended_before(&append.events)? {
            return Ok(appended);
        }
        self.check_afters(&append.conditions)?;
        if let Some(tracking) = &append.tracking {
            let origin = tracking.source().to_owned();
            match self.tracked.get(&origin) {
                Some(&tracked) if tracked >= tracking.position() => {
                    return Err(Error::AlreadyTracked { origin, tracked });
                }
                _ => {}
            }
        }
        self.check(&append.conditions)?;
        Ok(self.write(append))
    }

    fn write(&mut self, append: Append) -> Appended {
        let first = self.head().map_or(Position::FIRST, Position::next);
        let appended = Appended::contiguous(first, append.events.len());
        let now = whole_microseconds(SystemTime::now());
        let first_event = append.events.first();
        let recorded_at = first_event.and_then(Event::recorded_at).unwrap_or(now);
        let sequenced =
            append
                .events
                .into_iter()
                .zip(appended.positions())
                .map(|(event, position)| {
                    let id = event.id().unwrap_or_else(Uuid::now_v7);
                    event.into_sequenced(position, now, id)
                });
        self.events.extend(sequenced);
        if let Some(tracking) = append.tracking {
            self.tracked
                .insert(tracking.source().to_owned(), tracking.position());
        }
        if let Some(command) = append.command {
            let count = appended.positions().count() as u64;
            self.commands
                .push(command.into_recorded(first, count, recorded_at));
        }
        appended
    }
}

fn is_in_range(position: Position, options: ReadOptions) -> bool {
    let (after, from) = (Bookmark::position_of(options.after), options.from);
    if options.backwards {
        after.is_none_or(|after| position < after) && from.is_none_or(|from| position <= from)
    } else {
        after.is_none_or(|after| position > after) && from.is_none_or(|from| position >= from)
    }
}

/// Rounds down to microseconds, the precision that the conformance suite requires.
fn whole_microseconds(time: SystemTime) -> SystemTime {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + Duration::from_micros(since_epoch.as_micros() as u64)
}

impl EventStore for ToyStore {
    async fn submit(&self, append: Append) -> Result<Appended, Error> {
        self.limits.check(&append)?;
        self.log()?.submit(append)
    }

    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        // Hold the lock for the whole read, so that the events and the head are from one snapshot.
        let log = self.log()?;
        let mut events = log.events.clone();
        if options.backwards {
            events.reverse();
        }
        if let Some(after) = options.after {
            // In a backward read, `after` is only an upper bound, so any plain position is valid.
            if !options.backwards || after.event_id.is_some() {
                log.check_within(after)?;
            }
            if log.is_replaced(after) {
                let position = after.position;
                return Err(Error::PastReplaced { position });
            }
        }
        events.retain(|event| query.matches(event) && is_in_range(event.position(), options));
        events.truncate(options.limit.unwrap_or(u64::MAX) as usize);
        let stream = futures_util::stream::iter(events.into_iter().map(Ok));
        let head = log.events.last().map(SequencedEvent::bookmark);
        Ok(EventStream::new(head, stream))
    }

    async fn tracked(&self, source: &str) -> Result<Option<u64>, Error> {
        Ok(self.log()?.tracked.get(source).copied())
    }

    async fn all_tracked(&self) -> Result<Vec<Tracking>, Error> {
        let log = self.log()?;
        let mut tracked: Vec<_> = log.tracked.iter().collect();
        tracked.sort();
        let each = tracked.into_iter();
        each.map(|(source, position)| Tracking::new(source, *position))
            .collect()
    }

    async fn commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> Result<Vec<RecordedCommand>, Error> {
        let mut commands = self.log()?.commands.clone();
        commands.retain(|command| Some(command.position()) > after);
        commands.truncate(limit as usize);
        Ok(commands)
    }

    fn projection_limit(&self) -> &ProjectionLimit {
        &self.projections
    }

    async fn health(&self) -> Result<Health, Error> {
        let _open = self.log()?;
        Ok(Health::new("toy", "1", Vec::new(), false))
    }

    async fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
dcb_conformance::suite!(async || ToyStore::default());

#[tokio::main]
async fn main() -> Result<(), Error> {
    let store = ToyStore::default();
    let free = AppendCondition::fail_if_exists("username", "ada")?;
    for attempt in 1..=2 {
        let registered = Event::builder("UserRegistered")
            .tag_pair("username", "ada")
            .build()?;
        match store.append_if(registered, free.clone()).await {
            Ok(appended) => println!("attempt {attempt}: stored at position {}", appended.first()),
            Err(Error::Conflict { position, .. }) => {
                println!("attempt {attempt}: taken at position {position}");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
