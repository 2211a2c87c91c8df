//! One caller of a race.

use super::{Call, Clock, Draft, Outcome, Place, Race, Step};
use crate::{Condition, EventPeer, Failure, NewEvent, QueryItem};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

/// Few values, so that the boundaries of the callers overlap.
const COURSES: u32 = 4;
const STUDENTS: u32 = 6;
const IMPORTS: u32 = 3;
/// The share of appends that a caller gives up, and how long it waits for their answers at most.
const DROPPED: f64 = 0.1;
const LONGEST_WAIT_US: u64 = 3_000;
/// The pause after a failed call, so that an outage does not use up all calls.
const AFTER_FAILURE: Duration = Duration::from_millis(5);
/// The greatest distance of a stale `after` from the last position that the caller has seen.
const STALE: u64 = 20;

pub(super) struct Racer<P> {
    peer: Arc<P>,
    clock: Clock,
    random: StdRng,
    number: usize,
    repeats: bool,
    drops: bool,
    /// The last position before the race.
    begin: u64,
    /// The last position that the caller has seen.
    seen: u64,
    steps: Vec<Step>,
    /// Events and condition of the last append that was not refused.
    appended: Option<(Vec<Draft>, Option<Condition>)>,
}

impl<P: EventPeer> Racer<P> {
    pub(super) fn new(peer: Arc<P>, clock: Clock, race: &Race, number: usize, begin: u64) -> Self {
        Self {
            peer,
            clock,
            random: StdRng::seed_from_u64(race.seed << 16 | number as u64),
            number,
            repeats: race.repeats,
            drops: race.drops,
            begin,
            seen: begin,
            steps: Vec::new(),
            appended: None,
        }
    }

    pub(super) async fn run(mut self, calls: usize) -> Vec<Step> {
        for _ in 0..calls {
            match self.random.random_range(0..100) {
                0..55 => self.decide().await,
                55..75 => {
                    let stale = self.random.random_range(0..=STALE);
                    let after = self.seen.saturating_sub(stale).max(self.begin);
                    let items = self.query();
                    self.append_new(Some(condition(items, after))).await;
                }
                75..85 => self.append_new(None).await,
                85..92 => {
                    let items = self.query();
                    self.read(items).await;
                }
                _ => self.repeat().await,
            }
        }
        self.steps
    }

    /// Reads, and appends on condition that nothing has come since.
    async fn decide(&mut self) {
        let items = self.query();
        if let Some(head) = self.read(items.clone()).await {
            self.append_new(Some(condition(items, head))).await;
        }
    }

    /// Reads the events of the race, and returns the head; `None` if the read failed.
    async fn read(&mut self, items: Vec<QueryItem>) -> Option<u64> {
        let begun = self.clock.tick();
        let read = self.peer.read(&items, Some(self.begin)).await;
        let ended = self.clock.tick();
        let Ok(read) = read else {
            // A failed read promises nothing.
            sleep(AFTER_FAILURE).await;
            return None;
        };
        let head = read.head.unwrap_or(0);
        self.seen = self.seen.max(head);
        let call = Call::Read {
            items,
            after: self.begin,
            head,
            found: read.events.iter().map(Place::from).collect(),
        };
        self.note(begun, ended, call);
        Some(head)
    }

    async fn append_new(&mut self, condition: Option<Condition>) {
        let events = match self.random.random_range(0..3) {
            0 => self.random.random_range(2..5),
            _ => 1,
        };
        let events: Vec<Draft> = (0..events).map(|_| self.draft()).collect();
        self.append(events, condition).await;
    }

    /// Makes the last append once more, with the same ids.
    async fn repeat(&mut self) {
        match self.appended.clone().filter(|_| self.repeats) {
            Some((events, condition)) => self.append(events, condition).await,
            None => self.append_new(None).await,
        }
    }

    async fn append(&mut self, events: Vec<Draft>, condition: Option<Condition>) {
        let new = events.iter().map(new_event).collect();
        let begun = self.clock.tick();
        let append = self.peer.append(new, condition.clone());
        let appended = if self.drops && self.random.random_bool(DROPPED) {
            let wait = Duration::from_micros(self.random.random_range(0..LONGEST_WAIT_US));
            let given_up = |_| Err(Failure::Other("its caller gave it up".to_owned()));
            timeout(wait, append).await.unwrap_or_else(given_up)
        } else {
            append.await
        };
        let ended = self.clock.tick();
        let outcome = match appended {
            Ok(position) => {
                self.seen = self.seen.max(position);
                Outcome::Appended(position)
            }
            Err(Failure::Conflict) => Outcome::Conflict,
            Err(Failure::Other(reason)) => {
                sleep(AFTER_FAILURE).await;
                Outcome::Unknown(reason)
            }
        };
        // An append with an unknown result is the one that a client repeats.
        if outcome != Outcome::Conflict {
            self.appended = Some((events.clone(), condition.clone()));
        }
        let call = Call::Append {
            events,
            condition,
            outcome,
        };
        self.note(begun, ended, call);
    }

    fn note(&mut self, begun: u64, ended: u64, call: Call) {
        self.steps.push(Step {
            caller: self.number,
            begun,
            ended,
            call,
        });
    }

    fn draft(&mut self) -> Draft {
        let (event_type, tags) = match self.random.random_range(0..4) {
            0..2 => ("StudentEnrolled", vec![self.course(), self.student()]),
            2 => ("StudentImported", vec![self.import(), self.student()]),
            _ => ("StudentRenamed", vec![self.student()]),
        };
        Draft {
            id: Uuid::from_u128(self.random.random()),
            event_type: event_type.to_owned(),
            tags,
        }
    }

    /// One or two items: by type, by tag, by both or by two tags.
    fn query(&mut self) -> Vec<QueryItem> {
        let items = self.random.random_range(1..=2);
        (0..items).map(|_| self.item()).collect()
    }

    fn item(&mut self) -> QueryItem {
        let enrolled = || vec!["StudentEnrolled".to_owned()];
        let (types, tags) = match self.random.random_range(0..10) {
            0 => (enrolled(), Vec::new()),
            1..3 => (enrolled(), vec![self.student()]),
            3..5 => (Vec::new(), vec![self.course(), self.student()]),
            5..7 => (Vec::new(), vec![self.course()]),
            7 => (Vec::new(), vec![self.import()]),
            _ => (Vec::new(), vec![self.student()]),
        };
        QueryItem { types, tags }
    }

    fn course(&mut self) -> String {
        format!("course:{}", self.random.random_range(0..COURSES))
    }

    fn student(&mut self) -> String {
        format!("student:{}", self.random.random_range(0..STUDENTS))
    }

    fn import(&mut self) -> String {
        format!("import:{}", self.random.random_range(0..IMPORTS))
    }
}

fn condition(items: Vec<QueryItem>, after: u64) -> Condition {
    Condition {
        items,
        after: Some(after).filter(|after| *after > 0),
    }
}

fn new_event(draft: &Draft) -> NewEvent {
    NewEvent {
        id: Some(draft.id),
        event_type: draft.event_type.clone(),
        tags: draft.tags.clone(),
        data: b"{}".to_vec(),
    }
}
