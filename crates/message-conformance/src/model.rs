//! The model that backends are compared with: a list of messages that every call scans. It is slow
//! and obviously correct.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use uuid::Uuid;

use message_store::{
    Bookmark, Category, CategoryInfo, CategoryRead, Checkpoint, Error, ExpectedVersion, Fault,
    GlobalPosition, Health, Limits, ListStreams, Message, MessageStore, Notifications, Notifier,
    Position, RecordedMessage, RecordedParts, Stats, StoreInfo, StreamInfo, StreamName, StreamRead,
    StreamWrite, Written, same_json,
};

/// A message store that keeps its messages in a list, with the default [`Limits`].
#[derive(Debug, Default)]
pub struct Model {
    state: Mutex<State>,
    notifier: Notifier,
}

#[derive(Debug, Default)]
struct State {
    messages: Vec<RecordedMessage>,
    checkpoints: BTreeMap<String, Bookmark>,
    closed: bool,
}

impl Model {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> Result<MutexGuard<'_, State>, Error> {
        let state = self.state.lock().expect("no caller panics under the lock");
        if state.closed {
            return Err(Fault::Closed.into());
        }
        Ok(state)
    }

    fn write(&self, writes: Vec<StreamWrite>) -> Result<Vec<Vec<Written>>, Error> {
        let written = self.state()?.write(writes)?;
        self.notifier.notify();
        Ok(written)
    }
}

impl State {
    fn write(&mut self, writes: Vec<StreamWrite>) -> Result<Vec<Vec<Written>>, Error> {
        // Check ids before versions, because a repeated write succeeds with any expected version.
        if let Some(found) = self.stored_before(&writes)? {
            return Ok(found);
        }
        for write in &writes {
            let actual = self.version(write.stream.as_str());
            if !write.expected_version.allows(actual) {
                return Err(Error::WrongExpectedVersion {
                    stream: write.stream.to_string(),
                    expected: write.expected_version,
                    actual,
                });
            }
        }
        let time_us = to_us(SystemTime::now());
        let lists = writes.into_iter().map(|write| {
            let messages = write.messages.into_iter();
            messages
                .map(|message| self.push(write.stream.as_str(), &message, time_us))
                .collect()
        });
        Ok(lists.collect())
    }

    /// The positions of the messages if all are stored, `None` if none is.
    fn stored_before(&self, writes: &[StreamWrite]) -> Result<Option<Vec<Vec<Written>>>, Error> {
        let all = || {
            let streams = writes.iter();
            streams.flat_map(|write| write.messages.iter().map(move |one| (&write.stream, one)))
        };
        let find = |message: &Message| {
            let id = message.id()?;
            self.messages.iter().find(|stored| stored.id() == id)
        };
        let Some(first) = all().find_map(|(_, message)| find(message)) else {
            return Ok(None);
        };
        // Only some of the messages are stored, so this is not a repeated write.
        if all().any(|(_, message)| find(message).is_none()) {
            return Err(Error::DuplicateId { id: first.id() });
        }
        for (stream, message) in all() {
            if let Some(found) = find(message)
                && !found.has_content_of(stream.as_str(), message)
            {
                return Err(Error::DuplicateId { id: found.id() });
            }
        }
        let lists = writes.iter().map(|write| {
            let found = write.messages.iter().filter_map(find);
            found.map(written).collect()
        });
        Ok(Some(lists.collect()))
    }

    fn push(&mut self, stream_name: &str, message: &Message, time_us: i64) -> Written {
        let recorded = RecordedMessage::new(RecordedParts {
            id: message.id().unwrap_or_else(Uuid::now_v7),
            stream_name,
            message_type: message.message_type(),
            position: self
                .version(stream_name)
                .map_or(Position::START, Position::next),
            global_position: self
                .head()
                .map_or(GlobalPosition::START, GlobalPosition::next),
            data: message.data_json(),
            metadata: message.metadata_json(),
            time_us,
        });
        let written = written(&recorded);
        self.messages.push(recorded);
        written
    }

    fn import(&mut self, messages: Vec<RecordedMessage>) -> Result<u64, Error> {
        let before = self.messages.len();
        for message in messages {
            if let Err(reason) = self.import_one(&message) {
                // All or nothing.
                self.messages.truncate(before);
                return Err(Error::ImportConflict {
                    global_position: message.global_position(),
                    reason: reason.into(),
                });
            }
        }
        Ok((self.messages.len() - before) as u64)
    }

    fn import_one(&mut self, message: &RecordedMessage) -> Result<(), &'static str> {
        if self.messages.iter().any(|stored| is_same(stored, message)) {
            return Ok(());
        }
        if Some(message.global_position()) <= self.head() || message.global_position().get() == 0 {
            return Err("not past the head");
        }
        let last = message
            .position()
            .get()
            .max(message.global_position().get());
        // Reject the message, because no later write could get a position.
        if last >= i64::MAX as u64 {
            return Err("no position follows");
        }
        let version = self.version(message.stream_name());
        if version.is_some_and(|version| version.next() != message.position()) {
            return Err("not the next of its stream");
        }
        if self
            .messages
            .iter()
            .any(|stored| stored.id() == message.id())
        {
            return Err("its id is taken");
        }
        self.messages.push(message.clone());
        Ok(())
    }

    fn stream<'s>(&'s self, name: &'s str) -> impl DoubleEndedIterator<Item = &'s RecordedMessage> {
        let messages = self.messages.iter();
        messages.filter(move |message| message.stream_name() == name)
    }

    fn version(&self, stream: &str) -> Option<Position> {
        self.stream(stream).last().map(RecordedMessage::position)
    }

    fn head(&self) -> Option<GlobalPosition> {
        self.messages.last().map(RecordedMessage::global_position)
    }

    /// Checks that a reader's last message is here, or was deleted: this store leaves out no position.
    fn check(&self, handled: Option<Bookmark>) -> Result<(), Error> {
        let Some(handled) = handled else {
            return Ok(());
        };
        let is_there = |stored: &&RecordedMessage| stored.global_position() == handled.position;
        let found = self.messages.iter().find(is_there);
        handled.check(found.map(RecordedMessage::id), self.head(), self.head())
    }

    fn names(&self) -> BTreeSet<String> {
        let names = self.messages.iter().map(RecordedMessage::stream_name);
        names.map(str::to_owned).collect()
    }

    fn truncate(&mut self, stream: &str, before: Position) -> u64 {
        let Some(version) = self.version(stream) else {
            return 0;
        };
        let count = self.messages.len();
        let is_deleted = |message: &RecordedMessage| {
            // The last message stays, because it holds the version.
            message.stream_name() == stream && message.position() < before.min(version)
        };
        self.messages.retain(|message| !is_deleted(message));
        (count - self.messages.len()) as u64
    }

    fn expire(&mut self, category: &Category, before_us: i64) -> u64 {
        let mut deleted = 0;
        for name in self.names() {
            if category.includes(&name) {
                // If the clock was set back, an expired message may follow one that has not
                // expired. It stays, because deleting it would leave a gap.
                let first_young = self
                    .stream(&name)
                    .find(|stored| stored.time_us() >= before_us);
                let before =
                    first_young.map_or(Position::new(u64::MAX), |stored| stored.position());
                deleted += self.truncate(&name, before);
            }
        }
        deleted
    }
}

fn written(message: &RecordedMessage) -> Written {
    Written {
        position: message.position(),
        global_position: message.global_position(),
    }
}

fn is_same(stored: &RecordedMessage, other: &RecordedMessage) -> bool {
    let same_metadata = match (stored.metadata_json(), other.metadata_json()) {
        (Some(stored), Some(other)) => same_json(stored, other),
        (stored, other) => stored == other,
    };
    stored.id() == other.id()
        && written(stored) == written(other)
        && stored.time_us() == other.time_us()
        && stored.stream_name() == other.stream_name()
        && stored.message_type() == other.message_type()
        && same_json(stored.data_json(), other.data_json())
        && same_metadata
}

/// Whether the metadata names a stream of exactly this category.
fn correlates(message: &RecordedMessage, category: &Category) -> bool {
    let metadata: serde_json::Value = message.metadata().unwrap_or_default();
    metadata["correlationStreamName"]
        .as_str()
        .is_some_and(|name| category.includes(name))
}

fn take<'m>(
    messages: impl Iterator<Item = &'m RecordedMessage>,
    batch_size: Option<u64>,
) -> Vec<RecordedMessage> {
    let most = batch_size.map_or(usize::MAX, |most| most.try_into().unwrap_or(usize::MAX));
    messages.take(most).cloned().collect()
}

impl MessageStore for Model {
    async fn write_streams(&self, writes: Vec<StreamWrite>) -> Result<Vec<Vec<Written>>, Error> {
        Limits::default().check_streams(&writes)?;
        self.write(writes)
    }

    async fn write_batch(
        &self,
        stream: &StreamName,
        messages: Vec<Message>,
        expected_version: ExpectedVersion,
    ) -> Result<Vec<Written>, Error> {
        Limits::default().check_batch(&messages)?;
        let write = StreamWrite::new(stream.clone(), messages).expected_version(expected_version);
        Ok(self.write(vec![write])?.concat())
    }

    async fn write_message(
        &self,
        stream: &StreamName,
        message: Message,
        expected_version: ExpectedVersion,
    ) -> Result<Written, Error> {
        Limits::default().check_message(&message)?;
        let write = StreamWrite::new(stream.clone(), message).expected_version(expected_version);
        Ok(self.write(vec![write])?[0][0])
    }

    async fn import_messages(&self, messages: Vec<RecordedMessage>) -> Result<u64, Error> {
        let imported = self.state()?.import(messages)?;
        self.notifier.notify();
        Ok(imported)
    }

    async fn get_stream_messages(
        &self,
        stream: &StreamName,
        read: StreamRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        let state = self.state()?;
        state.check(read.handled)?;
        let messages = state.stream(stream.as_str());
        let messages = messages.filter(|message| message.position() >= read.position);
        Ok(take(messages, read.batch_size))
    }

    async fn get_category_messages(
        &self,
        category: &Category,
        read: CategoryRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        let state = self.state()?;
        state.check(read.handled)?;
        let messages = state.messages.iter().filter(|message| {
            message.global_position() >= read.position
                && category.includes(message.stream_name())
                && (read.correlation.is_all() || correlates(message, &read.correlation))
                && read
                    .consumer_group
                    .is_none_or(|group| group.includes(message.stream_name()))
        });
        Ok(take(messages, read.batch_size))
    }

    async fn get_last_stream_message(
        &self,
        stream: &StreamName,
        message_type: Option<&str>,
    ) -> Result<Option<RecordedMessage>, Error> {
        let state = self.state()?;
        let mut newest_first = state.stream(stream.as_str()).rev();
        let last = newest_first
            .find(|message| message_type.is_none_or(|wanted| message.message_type() == wanted));
        Ok(last.cloned())
    }

    async fn stream_version(&self, stream: &StreamName) -> Result<Option<Position>, Error> {
        Ok(self.state()?.version(stream.as_str()))
    }

    async fn head(&self) -> Result<Option<Bookmark>, Error> {
        let state = self.state()?;
        Ok(state.messages.last().map(RecordedMessage::bookmark))
    }

    async fn list_streams(&self, list: ListStreams) -> Result<Vec<StreamInfo>, Error> {
        let state = self.state()?;
        let names = state.names().into_iter().filter(|name| {
            name.starts_with(&list.prefix) && list.after.as_ref().is_none_or(|after| name > after)
        });
        let streams = names.filter_map(|stream_name| {
            let last = state.stream(&stream_name).last()?;
            Some(StreamInfo {
                version: last.position(),
                last_activity: last.time(),
                stream_name,
            })
        });
        let limit = usize::try_from(list.limit).unwrap_or(usize::MAX);
        Ok(streams.take(limit).collect())
    }

    async fn list_categories(&self) -> Result<Vec<CategoryInfo>, Error> {
        let state = self.state()?;
        let categories: BTreeSet<&str> = state
            .messages
            .iter()
            .map(RecordedMessage::category)
            .collect();
        let infos = categories.into_iter().map(|category| {
            let messages = || {
                state
                    .messages
                    .iter()
                    .filter(|stored| stored.category() == category)
            };
            let streams: BTreeSet<&str> = messages().map(RecordedMessage::stream_name).collect();
            CategoryInfo {
                category: category.to_owned(),
                stream_count: streams.len() as u64,
                message_count: messages().count() as u64,
            }
        });
        Ok(infos.collect())
    }

    async fn info(&self) -> Result<StoreInfo, Error> {
        let state = self.state()?;
        Ok(StoreInfo {
            stream_count: state.names().len() as u64,
            message_count: state.messages.len() as u64,
            last_activity: state.messages.last().map(|last| last.time()),
        })
    }

    async fn truncate_stream(&self, stream: &StreamName, before: Position) -> Result<u64, Error> {
        Ok(self.state()?.truncate(stream.as_str(), before))
    }

    async fn expire_messages(&self, category: &Category, before: SystemTime) -> Result<u64, Error> {
        Ok(self.state()?.expire(category, to_us(before)))
    }

    async fn all_checkpoints(&self) -> Result<Vec<Checkpoint>, Error> {
        let state = self.state()?;
        let each = state
            .checkpoints
            .iter()
            .map(|(consumer, handled)| Checkpoint {
                consumer: consumer.clone(),
                handled: *handled,
            });
        Ok(each.collect())
    }

    async fn save_checkpoint(
        &self,
        consumer: &str,
        handled: impl Into<Bookmark> + Send,
    ) -> Result<Bookmark, Error> {
        Limits::check_consumer(consumer)?;
        let handled = handled.into();
        let mut state = self.state()?;
        let saved = state
            .checkpoints
            .entry(consumer.to_owned())
            .or_insert(handled);
        if handled.position > saved.position {
            *saved = handled;
        } else if handled.position == saved.position {
            saved.message_id = handled.message_id.or(saved.message_id);
        }
        Ok(*saved)
    }

    async fn delete_checkpoint(&self, consumer: &str) -> Result<bool, Error> {
        Limits::check_consumer(consumer)?;
        Ok(self.state()?.checkpoints.remove(consumer).is_some())
    }

    fn notifications(&self) -> Notifications {
        self.notifier.notifications()
    }

    async fn health(&self) -> Result<Health, Error> {
        // `state` fails if the store is closed. The state itself is not needed.
        drop(self.state()?);
        Ok(Health::new("model", "", Vec::new(), false))
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }

    async fn close(&self) {
        if let Ok(mut state) = self.state() {
            state.closed = true;
        }
    }
}

/// Microseconds since 1970, rounded down.
fn to_us(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => {
            let us = before.duration().as_nanos().div_ceil(1000);
            i64::try_from(us).map_or(i64::MIN, |us| -us)
        }
    }
}
