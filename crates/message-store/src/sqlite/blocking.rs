use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use group_commit::{BlockingQueue, Queue, SubmitError};
use rusqlite::{Connection, params};
use tracing::instrument;
use uuid::Uuid;

use super::config::{Config, Location};
use super::counters::Counters;
use super::one_or_many::OneOrMany;
use super::readers::Readers;
use super::request::{Request, Verdict};
use super::retention::{self, Expiry};
use super::writer::{InTask, OnThread, Writer};
use super::{backup, connection, health, import, list, read, statements};
use crate::text::check_consumer;
use crate::time::to_us;
use crate::{
    Category, CategoryInfo, CategoryRead, Error, ExpectedVersion, GlobalPosition, Health,
    ListStreams, Message, Notifications, Position, RecordedMessage, Stats, StoreInfo, StreamInfo,
    StreamName, StreamRead, StreamWrite, Written,
};

/// A message store in SQLite for threads: each call blocks its thread. Cheap to clone; clones share
/// connections and the queue.
///
/// The calls and what they guarantee are those of [`MessageStore`](crate::MessageStore). A lone
/// caller commits on its own thread; those who come meanwhile wait, and are committed together.
#[derive(Clone)]
pub struct BlockingSqliteStore {
    pub(super) shared: Arc<Shared>,
}

impl fmt::Debug for BlockingSqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BlockingSqliteStore")
            .field("location", &self.shared.config.location)
            .finish_non_exhaustive()
    }
}

/// What both faces of a store stand on.
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) writer: Arc<Writer>,
    /// `None` in memory, where the one connection reads too.
    readers: Option<Readers>,
    pub(super) counters: Arc<Counters>,
    threads: BlockingQueue<OnThread>,
    pub(super) tasks: Queue<InTask>,
}

impl BlockingSqliteStore {
    /// Opens a store, installs the schema where it is missing or older, and checks that it is as it
    /// was installed. Several processes may do so at once.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the file can't be opened or refuses a setting,
    /// [`Error::SchemaMismatch`], [`Error::SchemaTooNew`], [`Error::Timeout`] where another process
    /// holds the file's lock.
    pub fn open(config: Config) -> Result<Self, Error> {
        let config = config.settled()?;
        let counters = Arc::new(Counters::default());
        let connection = connection::writer(&config)?;
        let writer = Writer::new(connection, config.write_timeout, Arc::clone(&counters));
        let writer = Arc::new(writer);
        let readers = match &config.location {
            Location::Memory => None,
            Location::File(path) => Some(Readers::new(config.clone(), path.clone())),
        };
        let limits = config.queue_limits();
        let shared = Shared {
            config,
            threads: BlockingQueue::new(OnThread(Arc::clone(&writer)), limits),
            tasks: Queue::new(InTask(Arc::clone(&writer)), limits),
            writer,
            readers,
            counters,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// As [`MessageStore::write_message`](crate::MessageStore::write_message).
    ///
    /// # Errors
    /// As there.
    #[instrument(level = "debug", name = "messages.write_message", skip_all)]
    pub fn write_message(
        &self,
        stream: &StreamName,
        message: Message,
        expected_version: ExpectedVersion,
    ) -> Result<Written, Error> {
        let limits = &self.shared.config.limits;
        let request = Request::of_message(limits, stream, message, expected_version)?;
        Ok(self.submit(request)?.as_slice()[0])
    }

    /// As [`MessageStore::write_batch`](crate::MessageStore::write_batch).
    ///
    /// # Errors
    /// As there.
    #[instrument(level = "debug", name = "messages.write_batch", skip_all)]
    pub fn write_batch(
        &self,
        stream: &StreamName,
        messages: Vec<Message>,
        expected_version: ExpectedVersion,
    ) -> Result<Vec<Written>, Error> {
        let limits = &self.shared.config.limits;
        let request = Request::of_batch(limits, stream, messages, expected_version)?;
        Ok(self.submit(request)?.into_vec())
    }

    /// As [`MessageStore::write_streams`](crate::MessageStore::write_streams).
    ///
    /// # Errors
    /// As there.
    #[instrument(level = "debug", name = "messages.write_streams", skip_all)]
    pub fn write_streams(&self, writes: Vec<StreamWrite>) -> Result<Vec<Vec<Written>>, Error> {
        let request = Request::of_streams(&self.shared.config.limits, writes)?;
        let counts = request.counts();
        Ok(split(&counts, self.submit(request)?.as_slice()))
    }

    fn submit(&self, request: Request) -> Verdict {
        let ids = request.ids();
        let deadline = Instant::now() + self.shared.config.write_timeout;
        let outcome = self.shared.threads.submit_until(request, deadline);
        outcome.unwrap_or_else(|error| Err(self.shared.failure(error, ids)))
    }

    /// As [`MessageStore::import_messages`](crate::MessageStore::import_messages).
    ///
    /// # Errors
    /// As there.
    #[instrument(level = "debug", name = "messages.import", skip_all)]
    pub fn import_messages(&self, messages: &[RecordedMessage]) -> Result<u64, Error> {
        let writer = &self.shared.writer;
        writer.change(|connection| import::import(connection, messages))
    }

    /// As [`MessageStore::get_stream_messages`](crate::MessageStore::get_stream_messages).
    ///
    /// # Errors
    /// As there.
    #[instrument(level = "debug", name = "messages.get_stream", skip_all)]
    pub fn get_stream_messages(
        &self,
        stream: &StreamName,
        read: StreamRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        self.messages(|connection| read::stream(connection, stream, read))
    }

    /// As [`MessageStore::get_category_messages`](crate::MessageStore::get_category_messages).
    ///
    /// # Errors
    /// As there.
    #[instrument(level = "debug", name = "messages.get_category", skip_all)]
    pub fn get_category_messages(
        &self,
        category: &Category,
        read: &CategoryRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        self.messages(|connection| read::category(connection, category, read))
    }

    fn messages(
        &self,
        read: impl FnOnce(&Connection) -> Result<Vec<RecordedMessage>, Error>,
    ) -> Result<Vec<RecordedMessage>, Error> {
        let messages = self.shared.read(read)?;
        self.shared.counters.read(messages.len());
        Ok(messages)
    }

    /// As [`MessageStore::get_last_stream_message`](crate::MessageStore::get_last_stream_message).
    ///
    /// # Errors
    /// As there.
    #[instrument(level = "debug", name = "messages.get_last", skip_all)]
    pub fn get_last_stream_message(
        &self,
        stream: &StreamName,
        message_type: Option<&str>,
    ) -> Result<Option<RecordedMessage>, Error> {
        let shared = &self.shared;
        let last = shared.read(|connection| read::last(connection, stream, message_type))?;
        shared.counters.read(usize::from(last.is_some()));
        Ok(last)
    }

    /// As [`MessageStore::stream_version`](crate::MessageStore::stream_version).
    ///
    /// # Errors
    /// As there.
    pub fn stream_version(&self, stream: &StreamName) -> Result<Option<Position>, Error> {
        let name = stream.as_str();
        let version = |connection: &_| Ok(super::apply::version(connection, name)?);
        self.shared.read(version)
    }

    /// As [`MessageStore::head`](crate::MessageStore::head).
    ///
    /// # Errors
    /// As there.
    pub fn head(&self) -> Result<Option<GlobalPosition>, Error> {
        self.shared.read(read::head)
    }

    /// As [`MessageStore::list_streams`](crate::MessageStore::list_streams).
    ///
    /// # Errors
    /// As there.
    pub fn list_streams(&self, list: &ListStreams) -> Result<Vec<StreamInfo>, Error> {
        let streams = |connection: &_| list::streams(connection, list);
        self.shared.read(streams)
    }

    /// As [`MessageStore::list_categories`](crate::MessageStore::list_categories).
    ///
    /// # Errors
    /// As there.
    pub fn list_categories(&self) -> Result<Vec<CategoryInfo>, Error> {
        self.shared.read(list::categories)
    }

    /// As [`MessageStore::info`](crate::MessageStore::info).
    ///
    /// # Errors
    /// As there.
    pub fn info(&self) -> Result<StoreInfo, Error> {
        self.shared.read(list::info)
    }

    /// As [`MessageStore::truncate_stream`](crate::MessageStore::truncate_stream).
    ///
    /// # Errors
    /// As there.
    pub fn truncate_stream(&self, stream: &StreamName, before: Position) -> Result<u64, Error> {
        let writer = &self.shared.writer;
        writer.change(|connection| retention::truncate(connection, stream.as_str(), before))
    }

    /// As [`MessageStore::expire_messages`](crate::MessageStore::expire_messages).
    ///
    /// # Errors
    /// As there.
    pub fn expire_messages(&self, category: &Category, before: SystemTime) -> Result<u64, Error> {
        let before_us = to_us(before);
        let begin = |connection: &_| Expiry::begin(connection, category);
        let mut expiry = self.shared.read(begin)?;
        while expiry.next.is_some() {
            let writer = &self.shared.writer;
            expiry = writer.change(|connection| expiry.part(connection, before_us))?;
        }
        Ok(expiry.deleted)
    }

    /// As [`MessageStore::checkpoint`](crate::MessageStore::checkpoint).
    ///
    /// # Errors
    /// As there.
    pub fn checkpoint(&self, consumer: &str) -> Result<Option<GlobalPosition>, Error> {
        check_consumer(consumer)?;
        let saved = |connection: &_| read::checkpoint(connection, consumer);
        self.shared.read(saved)
    }

    /// As [`MessageStore::save_checkpoint`](crate::MessageStore::save_checkpoint).
    ///
    /// # Errors
    /// As there.
    pub fn save_checkpoint(
        &self,
        consumer: &str,
        position: GlobalPosition,
    ) -> Result<GlobalPosition, Error> {
        check_consumer(consumer)?;
        let position = super::row::stored(position.get());
        let saved = self.shared.writer.change(|connection| {
            let mut save = connection.prepare_cached(statements::SAVE_CHECKPOINT)?;
            Ok(save.query_row(params![consumer, position], |row| row.get::<_, i64>(0))?)
        })?;
        Ok(GlobalPosition::new(saved.unsigned_abs()))
    }

    /// As [`MessageStore::delete_checkpoint`](crate::MessageStore::delete_checkpoint).
    ///
    /// # Errors
    /// As there.
    pub fn delete_checkpoint(&self, consumer: &str) -> Result<bool, Error> {
        check_consumer(consumer)?;
        self.shared.writer.change(|connection| {
            let deleted = connection.execute(statements::DELETE_CHECKPOINT, [consumer])?;
            Ok(deleted > 0)
        })
    }

    /// Writes a copy of the store, as it is at one moment, to a new file. Writers go on meanwhile;
    /// the copy is on disk when this returns, and is opened as any other store.
    ///
    /// # Errors
    /// [`Error::Io`] where the file exists or can't be written.
    #[instrument(level = "debug", name = "messages.backup", skip_all)]
    pub fn backup(&self, path: &Path) -> Result<(), Error> {
        self.shared
            .read(|connection| backup::write(connection, path))
    }

    /// As [`MessageStore::notifications`](crate::MessageStore::notifications): a hint comes with
    /// each change by this process.
    pub fn notifications(&self) -> Notifications {
        self.shared.writer.notifier().notifications()
    }

    /// As [`MessageStore::health`](crate::MessageStore::health).
    ///
    /// # Errors
    /// As there.
    pub fn health(&self) -> Result<Health, Error> {
        self.shared.read(read::head)?;
        let guard = self.shared.writer.lock();
        health::health(guard.as_ref().ok_or(Error::Closed)?)
    }

    /// As [`MessageStore::stats`](crate::MessageStore::stats).
    pub fn stats(&self) -> Stats {
        let (threads, tasks) = (self.shared.threads.stats(), self.shared.tasks.stats());
        Stats {
            largest_batch: threads.largest_batch.max(tasks.largest_batch) as u64,
            queued_writes: (threads.queued + tasks.queued) as u64,
            ..self.shared.counters.stats()
        }
    }

    /// As [`MessageStore::close`](crate::MessageStore::close), for the writes of blocking callers:
    /// those of async callers that still wait get [`Error::Closed`].
    pub fn close(&self) {
        self.shared.threads.close();
        if let Some(readers) = &self.shared.readers {
            readers.close();
        }
        self.shared.writer.close();
    }
}

impl BlockingSqliteStore {
    /// Whether one of its faces was closed.
    pub(super) fn is_closed(&self) -> bool {
        self.shared.threads.is_closed() || self.shared.tasks.is_closed()
    }
}

impl Shared {
    /// Reads on a connection of its own, or in memory on the only one.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match &self.readers {
            Some(readers) => readers.read(read),
            None => read(self.writer.lock().as_ref().ok_or(Error::Closed)?),
        }
    }

    /// What a caller is told whom the queue gave no verdict.
    pub(super) fn failure(&self, error: SubmitError<Error>, ids: OneOrMany<Uuid>) -> Error {
        match error {
            SubmitError::TimedOut => Error::Timeout {
                operation: "write",
                limit: self.config.write_timeout,
            },
            SubmitError::Refused(error) | SubmitError::Failed(error) => error,
            SubmitError::Panicked => Error::Panicked,
            SubmitError::Closed => Error::Closed,
            // Whatever else there is leaves it open whether the messages were written.
            _ => Error::OutcomeUnknown {
                ids: ids.into_vec(),
            },
        }
    }
}

/// A list for each stream, as long as `counts` says.
pub(super) fn split(counts: &[usize], mut written: &[Written]) -> Vec<Vec<Written>> {
    let mut lists = Vec::with_capacity(counts.len());
    for &count in counts {
        let (list, rest) = written.split_at(count);
        lists.push(list.to_vec());
        written = rest;
    }
    lists
}
