//! Messages that wait for a replay: one that could not be handled, and the later ones of its stream.
//!
//! The stream `parked-<consumer>` has a record of each message that was parked, and another record once the
//! message was replayed. A record is written only after the last one that its writer has read. So a runner that
//! parks one more message of a stream, and a replay that has handled the last one, don't miss each other: the
//! one that writes later reads again. `tests/it/runner/parked.rs` fails without this.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;

use tokio::time::sleep;

use super::handle::Failed;
use super::patience::Pauses;
use super::reference::{Reference, SetAside, record_id};
use super::stop::Stop;
use super::{Consumer, End, Failure};
use crate::{
    Bookmark, Category, CategoryRead, ConsumerGroup, Error, ExpectedVersion, GlobalPosition,
    Message, MessageStore, Position, RecordedMessage, StreamName, StreamRead,
};

/// The messages of a page of records.
const PAGE: u64 = 1_000;

/// The messages of a consumer that wait, as far as the records were read.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) stream: StreamName,
    /// The last record in `waiting`.
    version: Option<Position>,
    read_to: Option<Bookmark>,
    /// By stream, in the order of the log.
    waiting: HashMap<String, BTreeMap<GlobalPosition, Reference>>,
}

/// Whether a record parks its message or ends the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Parked,
    Replayed,
}

impl Kind {
    /// The type of the record.
    fn name(self) -> &'static str {
        match self {
            Self::Parked => "Parked",
            Self::Replayed => "Replayed",
        }
    }
}

impl Parked {
    pub(super) fn new(stream: StreamName) -> Self {
        Self {
            stream,
            version: None,
            read_to: None,
            waiting: HashMap::new(),
        }
    }

    fn has_stream(&self, stream: &str) -> bool {
        self.waiting.contains_key(stream)
    }

    fn has(&self, stream: &str, position: GlobalPosition) -> bool {
        let of_stream = self.waiting.get(stream);
        of_stream.is_some_and(|waiting| waiting.contains_key(&position))
    }

    fn first(&self, stream: &str) -> Option<Reference> {
        let first = self.waiting.get(stream)?.first_key_value();
        first.map(|(_, reference)| reference.clone())
    }

    fn next_version(&self) -> Position {
        self.version.map_or(Position::START, Position::next)
    }

    fn note(&mut self, kind: Kind, reference: Reference) {
        let (stream, position) = (reference.stream_name.clone(), reference.global_position());
        let waiting = self.waiting.entry(stream);
        match kind {
            Kind::Parked => {
                waiting.or_default().insert(position, reference);
            }
            Kind::Replayed => {
                let left = waiting.and_modify(|waiting| drop(waiting.remove(&position)));
                if left.or_default().is_empty() {
                    self.waiting.remove(&reference.stream_name);
                }
            }
        }
    }

    /// Reads the records after those that were read. Returns whether these are all: a record may be hidden for a
    /// moment, while another write commits.
    async fn read(&mut self, store: &impl MessageStore) -> Result<bool, Error> {
        let last = store.stream_version(&self.stream).await?;
        if self.version >= last {
            return Ok(true);
        }
        let category = Category::of(&self.stream);
        loop {
            // As a member of a group, because its reads don't come from a replica.
            let read = CategoryRead::new().start(self.read_to).batch_size(PAGE);
            let read = read.consumer_group(ConsumerGroup::new(0, 1)?);
            let page = store.get_category_messages(&category, read).await?;
            for record in &page {
                self.read_to = Some(record.bookmark());
                self.apply(record);
            }
            if (page.len() as u64) < PAGE {
                return Ok(self.version >= last);
            }
        }
    }

    fn apply(&mut self, record: &RecordedMessage) {
        // The category has the records of other consumers too, and those that this one wrote itself.
        let is_own = record.stream_name() == self.stream.as_str();
        if !is_own || Some(record.position()) <= self.version {
            return;
        }
        self.version = Some(record.position());
        let kinds = [Kind::Parked, Kind::Replayed];
        let kind = kinds
            .into_iter()
            .find(|kind| kind.name() == record.message_type());
        if let Some((kind, reference)) = kind.zip(Reference::in_record(record)) {
            self.note(kind, reference);
        }
    }
}

impl<S: MessageStore> Consumer<S> {
    pub(super) async fn read_parked(&mut self, stop: &mut Stop<'_>) -> Result<(), End> {
        let mut pauses = Pauses::new(&self.options);
        loop {
            match stop.or(self.parked.read(&self.store)).await? {
                Ok(true) => return Ok(()),
                Ok(false) => stop.or(sleep(pauses.next())).await?,
                Err(error) => self.wait_out(error, &mut pauses, stop).await?,
            }
        }
    }

    /// Parks a message that has failed, or one whose stream waits. Returns false if the stream does not wait any
    /// more, because a replay has handled its messages.
    pub(super) async fn park(
        &mut self,
        message: &RecordedMessage,
        failed: Option<&Failed>,
        stop: &mut Stop<'_>,
    ) -> Result<bool, End> {
        let (stream, position) = (message.stream_name(), message.global_position());
        loop {
            if failed.is_none() && !self.parked.has_stream(stream) {
                return Ok(false);
            }
            // Before a crash, or a run that was dropped.
            if self.parked.has(stream, position) {
                return Ok(true);
            }
            let reference = Reference::new(message, &self.name, failed);
            if self.record(Kind::Parked, reference, stop).await? {
                self.progress.count_parked();
                return Ok(true);
            }
        }
    }

    /// Writes a record after those that were read. Returns false if there are others, and reads them.
    async fn record(
        &mut self,
        kind: Kind,
        reference: Reference,
        stop: &mut Stop<'_>,
    ) -> Result<bool, End> {
        let version = self.parked.version;
        let stream = self.parked.stream.clone();
        let id = record_id(
            reference.message_id,
            stream.as_str(),
            self.parked.next_version(),
        );
        let record = Message::builder(kind.name()).id(id).metadata(&reference);
        let record = record.build()?;
        let mut pauses = Pauses::new(&self.options);
        loop {
            let expected = ExpectedVersion::from_version(version);
            let writing = self.store.write_message(&stream, record.clone(), expected);
            match stop.or(writing).await? {
                Ok(_) => break,
                Err(Error::WrongExpectedVersion { .. } | Error::DuplicateId { .. }) => {
                    self.read_parked(stop).await?;
                    if self.parked.version == version {
                        stop.or(sleep(pauses.next())).await?;
                    }
                    return Ok(false);
                }
                Err(error) => self.wait_out(error, &mut pauses, stop).await?,
            }
        }
        self.recovered();
        self.parked.version = Some(self.parked.next_version());
        self.parked.note(kind, reference);
        Ok(true)
    }

    /// Handles the messages of a stream that wait, in order, and counts them.
    pub(super) async fn replay<F>(
        &mut self,
        handler: &mut (impl FnMut(RecordedMessage) -> F + Send),
        stream: &StreamName,
        replayed: &mut u64,
        stop: &mut Stop<'_>,
    ) -> Result<(), End>
    where
        F: Future<Output = Result<(), Failure>> + Send,
    {
        self.read_parked(stop).await?;
        while let Some(reference) = self.parked.first(stream.as_str()) {
            match self.original(stream, &reference, stop).await? {
                Some(message) => {
                    if let Err(failed) = self.try_to_handle(handler, &message, stop).await? {
                        return Err(End::Failed(self.handler_error(&message, failed)));
                    }
                    *replayed += 1;
                }
                None => {
                    let (id, consumer) = (reference.message_id, &self.name);
                    let stream = stream.as_str();
                    tracing::warn!(consumer, stream, %id, "a parked message was deleted");
                }
            }
            let position = reference.global_position();
            while self.parked.has(stream.as_str(), position) {
                let done = Reference {
                    error: None,
                    ..reference.clone()
                };
                self.record(Kind::Replayed, done, stop).await?;
            }
        }
        Ok(())
    }

    /// The message of a record. `None` if it was deleted.
    async fn original(
        &self,
        stream: &StreamName,
        reference: &Reference,
        stop: &mut Stop<'_>,
    ) -> Result<Option<RecordedMessage>, End> {
        let mut pauses = Pauses::new(&self.options);
        let category = Category::of(stream);
        loop {
            // As a member of a group, because its reads don't come from a replica.
            let read = CategoryRead::new().position(reference.global_position());
            let read = read.batch_size(1).consumer_group(ConsumerGroup::new(0, 1)?);
            let reading = self.store.get_category_messages(&category, read);
            match stop.or(reading).await? {
                Ok(found) => {
                    let mut found = found.into_iter();
                    return Ok(found.find(|message| message.id() == reference.message_id));
                }
                Err(error) => self.wait_out(error, &mut pauses, stop).await?,
            }
        }
    }

    /// The messages that were skipped or parked, by global position.
    pub(super) async fn set_aside(&mut self) -> Result<Vec<SetAside>, Error> {
        let mut all = self.skipped().await?;
        let mut pauses = Pauses::new(&self.options);
        while !self.parked.read(&self.store).await? {
            sleep(pauses.next()).await;
        }
        let waiting = self.parked.waiting.values().flat_map(BTreeMap::values);
        all.extend(waiting.cloned().map(|reference| reference.set_aside(true)));
        all.sort_by_key(|message| message.global_position);
        Ok(all)
    }

    async fn skipped(&self) -> Result<Vec<SetAside>, Error> {
        let mut skipped = Vec::new();
        let mut next = Position::START;
        loop {
            let read = StreamRead::new().position(next).batch_size(PAGE);
            let page = self
                .store
                .get_stream_messages(&self.poison_stream, read)
                .await?;
            let copies = page.iter().filter_map(Reference::in_record);
            skipped.extend(copies.map(|reference| reference.set_aside(false)));
            match page.last() {
                Some(last) if page.len() as u64 >= PAGE => next = last.position().next(),
                _ => return Ok(skipped),
            }
        }
    }
}
