//! The requests of the callers with their answers, and the content that both stores must have.

use std::collections::HashMap;

use dcb_core::{Appended, Decided, Error, Event, Position, SequencedEvent};
use message_store::{RecordedMessage, StreamWrite, Written};
use tokio::time::Instant;
use uuid::Uuid;

use super::seats::{COURSE, ENROLLED, Refusal, STUDENT};
use super::{Shared, errors};

/// The time in which a write may be acknowledged that an asynchronous standby lacks.
pub(crate) struct Loss {
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

/// An append and the store's answer. The caller chose the ids.
pub(super) struct Sent {
    ids: Vec<Uuid>,
    answer: Result<Appended, Error>,
    answered: Instant,
}

/// A decision to enroll, and the answer.
pub(super) struct Enrollment {
    pub(super) student: u64,
    pub(super) course: u64,
    pub(super) answer: Result<Decided, Refusal>,
    pub(super) answered: Instant,
}

/// A write of messages and the store's answer. No streams if the caller could not read the version.
pub(super) struct SentMessages {
    pub(super) writes: Vec<StreamWrite>,
    pub(super) answer: Result<Vec<Vec<Written>>, message_store::Error>,
    pub(super) answered: Instant,
}

/// The answers that a caller got.
#[derive(Default)]
pub(super) struct Ledger {
    appends: Vec<Sent>,
    enrollments: Vec<Enrollment>,
    messages: Vec<SentMessages>,
    failed_reads: Vec<Error>,
}

impl Sent {
    pub(super) fn new(
        events: impl IntoIterator<Item = Event>,
        answer: Result<Appended, Error>,
    ) -> Self {
        let ids = events.into_iter().map(|event| event.id());
        let ids = ids.map(|id| id.expect("the caller chose an id"));
        Self {
            ids: ids.collect(),
            answer,
            answered: Instant::now(),
        }
    }
}

impl Ledger {
    pub(super) fn note(&mut self, shared: &Shared, sent: Sent) {
        if sent.answer.is_ok() {
            shared.event_pulse.beat();
        }
        self.appends.push(sent);
    }

    pub(super) fn note_enrollment(&mut self, shared: &Shared, enrollment: Enrollment) {
        if enrollment.answer.is_ok() {
            shared.event_pulse.beat();
        }
        self.enrollments.push(enrollment);
    }

    pub(super) fn note_messages(&mut self, shared: &Shared, sent: SentMessages) {
        if sent.answer.is_ok() {
            shared.message_pulse.beat();
        }
        self.messages.push(sent);
    }

    pub(super) fn note_failed_read(&mut self, error: &Error) {
        self.failed_reads.push(error.clone());
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.appends.extend(other.appends);
        self.enrollments.extend(other.enrollments);
        self.messages.extend(other.messages);
        self.failed_reads.extend(other.failed_reads);
    }

    /// The name of each answer. Panics if a failover explains an error neither with loss nor without.
    pub(super) fn answers(&self) -> impl Iterator<Item = &'static str> {
        let appends = self.appends.iter().map(|sent| match &sent.answer {
            Ok(_) => "appended",
            Err(error) => errors::of_events(error),
        });
        let reads = self.failed_reads.iter().map(errors::of_events);
        let enrollments = self.enrollments.iter().map(|sent| match &sent.answer {
            Ok(_) => "enrolled",
            Err(error) => errors::of_enrollment(error),
        });
        let messages = self.messages.iter().map(|sent| match &sent.answer {
            Ok(_) => "written",
            Err(error) => errors::of_messages(error),
        });
        appends.chain(reads).chain(enrollments).chain(messages)
    }

    /// Asserts that positions are dense, and that the log has every acknowledged event once, no refused
    /// one, and each append of unknown outcome completely or not at all. Events that were acknowledged
    /// during a loss may be missing.
    pub(super) fn check_events(&self, log: &[SequencedEvent], loss: Option<&Loss>) {
        let mut stored = HashMap::new();
        for (event, expected) in log.iter().zip(1..) {
            assert_eq!(event.position().get(), expected, "positions are dense");
            let twice = stored.insert(event.id(), event.position());
            assert!(twice.is_none(), "{} is stored twice", event.id());
        }
        for sent in &self.appends {
            check_append(sent, &stored, loss);
        }
        self.check_enrollments(log, loss);
    }

    fn check_enrollments(&self, log: &[SequencedEvent], loss: Option<&Loss>) {
        let completed = log.iter().filter(|event| event.is_of_type(ENROLLED));
        let mut stored = HashMap::new();
        for event in completed {
            let pair = [STUDENT, COURSE].map(|key| event.tag_value(key).map(str::to_owned));
            let twice = stored.insert(pair, event.position());
            assert!(twice.is_none(), "{event:?} is enrolled twice");
        }
        for Enrollment {
            student,
            course,
            answer,
            answered,
        } in &self.enrollments
        {
            let pair = [student, course].map(|id| Some(id.to_string()));
            let found = stored.get(&pair).copied();
            match answer {
                Ok(_) if found.is_none() && may_lose(loss, *answered) => {}
                Ok(decided) => {
                    let appended = decided.appended.as_ref().map(Appended::first);
                    assert_eq!(found, appended, "acknowledged enrollment {pair:?}");
                }
                Err(Refusal::Store(Error::OutcomeUnknown { .. })) => {}
                Err(error) => assert_eq!(found, None, "{pair:?} failed: {error:?}"),
            }
        }
    }

    /// Asserts the same of messages, and that each stream is dense.
    pub(super) fn check_messages(&self, all: &[RecordedMessage], loss: Option<&Loss>) {
        let (mut stored, mut versions) = (HashMap::new(), HashMap::new());
        for message in all {
            let next: &mut u64 = versions.entry(message.stream_name()).or_default();
            assert_eq!(message.position().get(), *next, "{message:?}");
            *next += 1;
            let written = Written {
                position: message.position(),
                global_position: message.global_position(),
            };
            let twice = stored.insert(message.id(), written);
            assert!(twice.is_none(), "{} is stored twice", message.id());
        }
        assert!(all.is_sorted_by_key(RecordedMessage::global_position));
        for sent in &self.messages {
            check_write(sent, &stored, loss);
        }
    }
}

/// Whether the loss may include what was acknowledged at this time.
fn may_lose(loss: Option<&Loss>, acknowledged: Instant) -> bool {
    loss.is_some_and(|loss| (loss.from..loss.to).contains(&acknowledged))
}

fn check_append(sent: &Sent, stored: &HashMap<Uuid, Position>, loss: Option<&Loss>) {
    let found: Vec<Position> = sent
        .ids
        .iter()
        .filter_map(|id| stored.get(id).copied())
        .collect();
    match &sent.answer {
        Ok(_) if found.is_empty() && may_lose(loss, sent.answered) => {}
        Ok(appended) => {
            let acknowledged: Vec<Position> = appended.positions().collect();
            assert_eq!(found, acknowledged, "acknowledged, of {:?}", sent.ids);
        }
        Err(Error::OutcomeUnknown { .. }) => {
            let is_whole = found.len() == sent.ids.len();
            assert!(found.is_empty() || is_whole, "torn: {found:?}");
        }
        Err(error) => assert!(found.is_empty(), "failed with {error}, is at {found:?}"),
    }
}

fn check_write(sent: &SentMessages, stored: &HashMap<Uuid, Written>, loss: Option<&Loss>) {
    let messages = sent.writes.iter().flat_map(|write| &write.messages);
    let ids: Vec<Uuid> = messages
        .map(|message| message.id().expect("the caller chose an id"))
        .collect();
    let found: Vec<Written> = ids
        .iter()
        .filter_map(|id| stored.get(id).copied())
        .collect();
    match &sent.answer {
        Ok(_) if found.is_empty() && may_lose(loss, sent.answered) => {}
        Ok(written) => assert_eq!(found, written.concat(), "acknowledged, of {ids:?}"),
        Err(message_store::Error::OutcomeUnknown { .. }) => {
            assert!(
                found.is_empty() || found.len() == ids.len(),
                "torn: {found:?}"
            );
        }
        Err(error) => assert!(found.is_empty(), "failed with {error}, is at {found:?}"),
    }
}
