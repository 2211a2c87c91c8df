//! A store in memory, right or with one planted fault.

use peer_protocol::{Condition, EventPeer, Failure, NewEvent, QueryItem, Read, Recorded};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::task::yield_now;
use uuid::Uuid;

/// One in so many calls shows a fault that is rare.
const RARE: u64 = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The store is right.
    None,
    /// A read takes its head after its events.
    LateHead,
    /// The condition is checked on a snapshot, which may be old when the events are written.
    ConditionOnSnapshot,
    /// An append is acknowledged, and sometimes never written.
    AcknowledgedBeforeCommit,
    /// Positions are given before the events can be read.
    VisibleOutOfOrder,
    /// An append that is slow is sent again inside the store.
    WrittenTwice,
    /// Only the first alternative of a condition is checked.
    FirstItemOnly,
    /// Conditions without tags are not checked.
    TypesNotIndexed,
    /// The first event after `after` is not checked.
    OffByOne,
    /// The events of an append are written one by one.
    OneByOne,
    /// An append sometimes loses its last event.
    CutShort,
    /// A refused append is written.
    RefusedButWritten,
    /// Reads come from a replica that is behind.
    LaggingReads,
    /// An append is refused if its `after` is not the head.
    RefusedForOldAfter,
    /// Events with ids that are in the log are written again.
    IdsNotUnique,
    /// A repeat is acknowledged at the head.
    RepeatAtHead,
    /// Reads of everything sometimes begin one event too early.
    PageRepeated,
    /// The events of an append are written backwards.
    Backwards,
    /// An event sometimes loses its last tag.
    LostTag,
    /// A position is left out sometimes.
    Gaps,
}

pub(crate) struct Store {
    fault: Fault,
    log: Mutex<Log>,
    /// Held by an append of a right store, from its check to its last event.
    writer: tokio::sync::Mutex<()>,
    calls: AtomicU64,
}

#[derive(Default)]
struct Log {
    events: Vec<Recorded>,
    /// The last position that was given.
    last: u64,
}

impl Store {
    pub(crate) fn new(fault: Fault) -> Self {
        Self {
            fault,
            log: Mutex::default(),
            writer: tokio::sync::Mutex::default(),
            calls: AtomicU64::new(0),
        }
    }

    fn is_now(&self, fault: Fault) -> bool {
        self.fault == fault && self.calls.fetch_add(1, Ordering::Relaxed) % RARE == RARE - 1
    }

    fn holds(&self, condition: &Condition) -> bool {
        let log = self.log.lock().unwrap();
        let mut items = condition.items.clone();
        let mut after = condition.after.unwrap_or(0);
        match self.fault {
            Fault::FirstItemOnly => items.truncate(1),
            Fault::TypesNotIndexed => items.retain(|item| !item.tags.is_empty()),
            Fault::OffByOne => after += 1,
            Fault::RefusedForOldAfter if log.last > after + 10 => return false,
            _ => {}
        }
        let mut events = log.events.iter().filter(|event| event.position > after);
        !events.any(|event| is_wanted(event, &items))
    }

    /// The position of an append with the same ids.
    fn repeated(&self, ids: &[Option<Uuid>]) -> Option<u64> {
        let log = self.log.lock().unwrap();
        let last = *ids.last()?;
        let stored = log.events.iter().find(|event| event.id == last)?;
        match self.fault {
            Fault::IdsNotUnique => None,
            Fault::RepeatAtHead => Some(log.last),
            _ => Some(stored.position),
        }
    }

    fn give_position(&self) -> u64 {
        let skipped = u64::from(self.is_now(Fault::Gaps));
        let mut log = self.log.lock().unwrap();
        log.last += 1 + skipped;
        log.last
    }

    fn store(&self, position: u64, event: NewEvent) {
        let mut tags = event.tags;
        if self.is_now(Fault::LostTag) {
            tags.pop();
        }
        let recorded = Recorded {
            position,
            id: event.id,
            event_type: event.event_type,
            tags,
            data: event.data,
        };
        let mut log = self.log.lock().unwrap();
        let index = log
            .events
            .partition_point(|event| event.position < position);
        log.events.insert(index, recorded);
    }

    /// Checks and writes in one step, as a right store does.
    fn append_at_once(&self, events: Vec<NewEvent>) -> u64 {
        let mut last = 0;
        for event in events {
            last = self.give_position();
            self.store(last, event);
        }
        last
    }
}

fn is_wanted(event: &Recorded, items: &[QueryItem]) -> bool {
    items
        .iter()
        .any(|item| item.matches(&event.event_type, &event.tags))
}

/// Lets the other callers go on.
async fn pause() {
    for _ in 0..3 {
        yield_now().await;
    }
}

impl EventPeer for Store {
    const BLOCKS: bool = false;

    async fn append(
        &self,
        mut events: Vec<NewEvent>,
        condition: Option<Condition>,
    ) -> Result<u64, Failure> {
        let ids: Vec<_> = events.iter().map(|event| event.id).collect();
        let holds = |condition: &Option<Condition>| {
            condition
                .as_ref()
                .is_none_or(|condition| self.holds(condition))
        };
        if self.fault == Fault::ConditionOnSnapshot {
            let is_held = holds(&condition);
            pause().await;
            return match is_held {
                true => Ok(self.append_at_once(events)),
                false => Err(Failure::Conflict),
            };
        }
        let writer = self.writer.lock().await;
        pause().await;
        if let Some(position) = self.repeated(&ids) {
            return Ok(position);
        }
        if !holds(&condition) {
            if self.is_now(Fault::RefusedButWritten) {
                self.append_at_once(events);
            }
            return Err(Failure::Conflict);
        }
        if self.is_now(Fault::AcknowledgedBeforeCommit) {
            return Ok(self.give_position() + events.len() as u64 - 1);
        }
        match self.fault {
            Fault::VisibleOutOfOrder => {
                let positions: Vec<u64> = events.iter().map(|_| self.give_position()).collect();
                drop(writer);
                pause().await;
                for (position, event) in positions.iter().zip(events) {
                    self.store(*position, event);
                }
                return Ok(positions[positions.len() - 1]);
            }
            Fault::OneByOne => {
                drop(writer);
                let mut last = 0;
                for event in events {
                    last = self.append_at_once(vec![event]);
                    pause().await;
                }
                return Ok(last);
            }
            Fault::Backwards => events.reverse(),
            _ => {}
        }
        if self.is_now(Fault::WrittenTwice) {
            self.append_at_once(events.clone());
        }
        if events.len() > 1 && self.is_now(Fault::CutShort) {
            events.pop();
        }
        Ok(self.append_at_once(events))
    }

    async fn read(&self, items: &[QueryItem], after: Option<u64>) -> Result<Read, Failure> {
        let lag = u64::from(self.fault == Fault::LaggingReads && !items.is_empty()) * 5;
        let early = u64::from(items.is_empty() && self.is_now(Fault::PageRepeated));
        let after = after.unwrap_or(0).saturating_sub(early);
        let (events, mut head) = {
            let log = self.log.lock().unwrap();
            let head = log
                .events
                .last()
                .map_or(0, |event| event.position)
                .saturating_sub(lag);
            let events = log.events.iter().filter(|event| {
                let is_wanted = items.is_empty() || is_wanted(event, items);
                (after + 1..=head).contains(&event.position) && is_wanted
            });
            (events.cloned().collect(), head)
        };
        if self.fault == Fault::LateHead {
            pause().await;
            head = self.log.lock().unwrap().last;
        }
        Ok(Read {
            events,
            head: Some(head).filter(|head| *head > 0),
        })
    }
}
