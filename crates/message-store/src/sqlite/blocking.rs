//! The operations of the SQLite store. The async store calls them as well.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use group_commit::{BlockingQueue, Queue, SubmitError};
use rusqlite::Connection;
use sqlite_store::{Readers, backup, reader_health, writer_health};
use store_meter::Holder;
use tracing::instrument;

use super::config::Config;
use super::counters::Counters;
use super::error::Failure;
use super::request::{Request, Ticket, Verdict};
use super::retention::{self, Expiry};
use super::writer::{Committer, Writer};
use super::{columns, import, list, place, read, statements};
use crate::time::to_us;
use crate::{
    Bookmark, Category, CategoryInfo, CategoryRead, Checkpoint, Error, ExpectedVersion, Fault,
    Health, ListStreams, Message, Metrics, Notifications, Position, RecordedMessage, Stats,
    StoreInfo, StreamInfo, StreamName, StreamRead, StreamWrite, Written,
};

/// A message store in SQLite for threads: each call blocks its thread. Cheap to clone; clones share
/// connections and the queue.
///
/// It has the methods and guarantees of [`MessageStore`](crate::MessageStore). A lone caller
/// commits on its own thread; callers that arrive during a commit wait and share the next one.
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

/// The state shared by the blocking and the async store.
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) writer: Arc<Writer>,
    /// `None` for a store in memory, because a second connection would open its own empty database.
    pub(super) readers: Option<Arc<Readers>>,
    pub(super) counters: Arc<Counters>,
    pub(super) blocking_queue: BlockingQueue<Committer>,
    pub(super) async_queue: Queue<Committer>,
}

impl BlockingSqliteStore {
    /// Opens a store. Installs the schema if it is missing or older, and verifies that an installed
    /// one is unchanged. Several processes may open one file at once. With
    /// [`Config::read_only`](super::FileConfig::read_only) it only reads.
    ///
    /// # Errors
    /// [`Fault::Unreachable`] if the file can't be opened or rejects a setting;
    /// [`Fault::ReadOnlyFile`] if it or its folder can't be written; [`Error::ColumnsDiffer`] if the
    /// first or the last message has a wrong category; [`Fault::SchemaChanged`] if the schema was
    /// changed or the file belongs to another application; [`Fault::SchemaTooNew`];
    /// [`Fault::Locked`] while another process holds the file's lock.
    pub fn open(config: Config) -> Result<Self, Error> {
        Self::open_measured(config, Metrics::new("sqlite"))
    }

    /// Opens a store, with metrics that were made on the caller's thread.
    pub(super) fn open_measured(config: Config, metrics: Metrics) -> Result<Self, Error> {
        Self::open_with(config, metrics, columns::require_at_ends)
    }

    /// Writes one message. See [`MessageStore::write_message`](crate::MessageStore::write_message).
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::DuplicateId`] and [`Error::WrongExpectedVersion`], checked in this
    /// order. [`Fault::Locked`] if another connection holds the file's lock for too long,
    /// [`Fault::TimedOut`] if the queue takes too long; [`Fault::Unreachable`], [`Fault::DiskFull`] or
    /// [`Fault::Refused`] if SQLite fails; [`Fault::FileMoved`]; [`Error::OutcomeUnknown`] or
    /// [`Fault::Panicked`] if the commit failed partway: write again with the same ids;
    /// [`Fault::Closed`] after [`BlockingSqliteStore::close`].
    #[instrument(level = "debug", name = "messages.write_message", skip_all)]
    pub fn write_message(
        &self,
        stream: &StreamName,
        message: Message,
        expected_version: ExpectedVersion,
    ) -> Result<Written, Error> {
        let config = &self.shared.config;
        let request = Request::from_message(config, stream, message, expected_version)?;
        Ok(self.submit(request)?.as_slice()[0])
    }

    /// Writes messages to one stream atomically. See
    /// [`MessageStore::write_batch`](crate::MessageStore::write_batch).
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::DuplicateId`] and [`Error::WrongExpectedVersion`], checked in this
    /// order. [`Fault::Locked`] if another connection holds the file's lock for too long,
    /// [`Fault::TimedOut`] if the queue takes too long; [`Fault::Unreachable`], [`Fault::DiskFull`] or
    /// [`Fault::Refused`] if SQLite fails; [`Fault::FileMoved`]; [`Error::OutcomeUnknown`] or
    /// [`Fault::Panicked`] if the commit failed partway: write again with the same ids;
    /// [`Fault::Closed`] after [`BlockingSqliteStore::close`].
    #[instrument(level = "debug", name = "messages.write_batch", skip_all)]
    pub fn write_batch(
        &self,
        stream: &StreamName,
        messages: Vec<Message>,
        expected_version: ExpectedVersion,
    ) -> Result<Vec<Written>, Error> {
        let config = &self.shared.config;
        let request = Request::from_batch(config, stream, messages, expected_version)?;
        Ok(self.submit(request)?.into_vec())
    }

    /// Writes to several streams atomically. See
    /// [`MessageStore::write_streams`](crate::MessageStore::write_streams).
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::DuplicateId`] and [`Error::WrongExpectedVersion`], checked in this
    /// order. [`Fault::Locked`] if another connection holds the file's lock for too long,
    /// [`Fault::TimedOut`] if the queue takes too long; [`Fault::Unreachable`], [`Fault::DiskFull`] or
    /// [`Fault::Refused`] if SQLite fails; [`Fault::FileMoved`]; [`Error::OutcomeUnknown`] or
    /// [`Fault::Panicked`] if the commit failed partway: write again with the same ids;
    /// [`Fault::Closed`] after [`BlockingSqliteStore::close`].
    #[instrument(level = "debug", name = "messages.write_streams", skip_all)]
    pub fn write_streams(&self, writes: Vec<StreamWrite>) -> Result<Vec<Vec<Written>>, Error> {
        let request = Request::from_streams(&self.shared.config, writes)?;
        let counts = request.counts();
        Ok(split_by_stream(&counts, self.submit(request)?.as_slice()))
    }

    fn submit(&self, request: Request) -> Verdict {
        let ticket = request.ticket();
        let deadline = request.deadline;
        let metrics = &self.shared.counters.metrics;
        let _waiting = metrics.store().begins();
        let outcome = self.shared.blocking_queue.submit_until(request, deadline);
        let ended = outcome.unwrap_or_else(|error| Err(self.shared.without_verdict(error, ticket)));
        metrics.write_ended(&ended);
        ended
    }

    /// Stores messages recorded by another store, in one commit. Returns the number of new ones.
    /// See [`MessageStore::import_messages`](crate::MessageStore::import_messages).
    ///
    /// # Errors
    /// [`Error::ImportConflict`] for a message that does not continue the stored ones.
    /// [`Fault::Locked`] while another process holds the file's write lock;
    /// [`Fault::Unreachable`], [`Fault::Refused`] or [`Error::OutcomeUnknown`] if SQLite fails;
    /// [`Fault::Closed`] after [`BlockingSqliteStore::close`].
    #[instrument(level = "debug", name = "messages.import", skip_all)]
    pub fn import_messages(&self, messages: &[RecordedMessage]) -> Result<u64, Error> {
        let writer = &self.shared.writer;
        writer.change(|connection| import::import(connection, messages))
    }

    /// Reads messages of one stream, in order. See
    /// [`MessageStore::get_stream_messages`](crate::MessageStore::get_stream_messages).
    ///
    /// # Errors
    /// [`Error::PastReplaced`] or [`Error::AfterBeyondHead`] if the read goes on after a message that
    /// is not in the store; [`Fault::Unreachable`] or [`Fault::Refused`] if SQLite fails;
    /// [`Fault::Closed`] after [`BlockingSqliteStore::close`].
    #[instrument(level = "debug", name = "messages.get_stream", skip_all)]
    pub fn get_stream_messages(
        &self,
        stream: &StreamName,
        read: StreamRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        self.messages(|connection| read::stream(connection, stream, read))
    }

    /// Reads messages of a category, or all messages, ordered by global position. See
    /// [`MessageStore::get_category_messages`](crate::MessageStore::get_category_messages).
    ///
    /// # Errors
    /// [`Error::PastReplaced`] or [`Error::AfterBeyondHead`] if the read goes on after a message that
    /// is not in the store; [`Fault::Unreachable`] or [`Fault::Refused`] if SQLite fails;
    /// [`Fault::Closed`] after [`BlockingSqliteStore::close`].
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
        read: impl FnOnce(&Connection) -> Result<Vec<RecordedMessage>, Failure>,
    ) -> Result<Vec<RecordedMessage>, Error> {
        let messages = self.shared.read(Holder::Page, read)?;
        self.shared.counters.read(messages.len());
        Ok(messages)
    }

    /// Reads the last message of a stream, or its last message of one type. See
    /// [`MessageStore::get_last_stream_message`](crate::MessageStore::get_last_stream_message).
    ///
    /// # Errors
    /// [`Fault::Unreachable`] or [`Fault::Refused`] if SQLite fails; [`Fault::Closed`] after
    /// [`BlockingSqliteStore::close`].
    #[instrument(level = "debug", name = "messages.get_last", skip_all)]
    pub fn get_last_stream_message(
        &self,
        stream: &StreamName,
        message_type: Option<&str>,
    ) -> Result<Option<RecordedMessage>, Error> {
        let shared = &self.shared;
        // The last message of a type may be anywhere in the stream.
        let holder = message_type.map_or(Holder::Page, |_| Holder::Scan);
        let last = shared.read(holder, |connection| {
            read::last(connection, stream, message_type)
        })?;
        shared.counters.read(usize::from(last.is_some()));
        Ok(last)
    }

    /// The position of the last message of a stream, `None` if the stream has no messages. See
    /// [`MessageStore::stream_version`](crate::MessageStore::stream_version).
    ///
    /// # Errors
    /// [`Fault::Unreachable`] or [`Fault::Refused`] if SQLite fails; [`Fault::Closed`] after
    /// [`BlockingSqliteStore::close`].
    pub fn stream_version(&self, stream: &StreamName) -> Result<Option<Position>, Error> {
        let name = stream.as_str();
        let version = |connection: &_| Ok(super::apply::version(connection, name)?);
        self.shared.read(Holder::Page, version)
    }

    /// The last message: its global position and its id. `None` for an empty store. See
    /// [`MessageStore::head`](crate::MessageStore::head).
    ///
    /// # Errors
    /// [`Fault::Unreachable`] or [`Fault::Refused`] if SQLite fails; [`Fault::Closed`] after
    /// [`BlockingSqliteStore::close`].
    pub fn head(&self) -> Result<Option<Bookmark>, Error> {
        self.shared.read(Holder::Page, place::head)
    }

    /// Lists a page of streams. See
    /// [`MessageStore::list_streams`](crate::MessageStore::list_streams).
    ///
    /// # Errors
    /// [`Fault::Unreachable`] or [`Fault::Refused`] if SQLite fails; [`Fault::Closed`] after
    /// [`BlockingSqliteStore::close`].
    pub fn list_streams(&self, list: &ListStreams) -> Result<Vec<StreamInfo>, Error> {
        let streams = |connection: &_| list::streams(connection, list);
        self.shared.read(Holder::Scan, streams)
    }

    /// Lists all categories, ordered by the bytes of their names. Reads the whole store. See
    /// [`MessageStore::list_categories`](crate::MessageStore::list_categories).
    ///
    /// # Errors
    /// [`Fault::Unreachable`] or [`Fault::Refused`] if SQLite fails; [`Fault::Closed`] after
    /// [`BlockingSqliteStore::close`].
    pub fn list_categories(&self) -> Result<Vec<CategoryInfo>, Error> {
        self.shared.read(Holder::Scan, list::categories)
    }

    /// Counts streams and messages. Reads the whole store. See
    /// [`MessageStore::info`](crate::MessageStore::info).
    ///
    /// # Errors
    /// [`Fault::Unreachable`] or [`Fault::Refused`] if SQLite fails; [`Fault::Closed`] after
    /// [`BlockingSqliteStore::close`].
    pub fn info(&self) -> Result<StoreInfo, Error> {
        self.shared.read(Holder::Scan, list::info)
    }

    /// Deletes the messages of a stream before a position, in several transactions, and returns their
    /// number. The last message is always kept. See
    /// [`MessageStore::truncate_stream`](crate::MessageStore::truncate_stream).
    ///
    /// # Errors
    /// [`Fault::Locked`] while another process holds the file's write lock;
    /// [`Fault::Unreachable`], [`Fault::Refused`] or [`Error::OutcomeUnknown`] if SQLite fails;
    /// [`Fault::Closed`] after [`BlockingSqliteStore::close`]. Some messages may have been deleted.
    pub fn truncate_stream(&self, stream: &StreamName, before: Position) -> Result<u64, Error> {
        let most = retention::MESSAGES_PER_STEP;
        let delete =
            |connection: &_| retention::truncate(connection, stream.as_str(), before, most);
        let mut deleted = 0;
        loop {
            let step = self.shared.writer.change(delete)?;
            deleted += step;
            if step < most {
                return Ok(deleted);
            }
            thread::sleep(retention::PAUSE);
        }
    }

    /// Deletes messages that were written before a time, in several transactions, and returns their
    /// number. The last message of each stream is always kept. See
    /// [`MessageStore::expire_messages`](crate::MessageStore::expire_messages).
    ///
    /// # Errors
    /// [`Fault::Locked`] while another process holds the file's write lock;
    /// [`Fault::Unreachable`], [`Fault::Refused`] or [`Error::OutcomeUnknown`] if SQLite fails;
    /// [`Fault::Closed`] after [`BlockingSqliteStore::close`]. Some messages may have been deleted.
    pub fn expire_messages(&self, category: &Category, before: SystemTime) -> Result<u64, Error> {
        let before_us = to_us(before);
        let start = |connection: &_| Expiry::start(connection, category);
        let mut expiry = self.shared.read(Holder::Page, start)?;
        // Each step is its own transaction, so that writers get the lock in between.
        while expiry.next_stream.is_some() {
            let writer = &self.shared.writer;
            expiry = writer.change(|connection| expiry.step(connection, before_us))?;
            thread::sleep(retention::PAUSE);
        }
        Ok(expiry.deleted)
    }

    /// The checkpoint that a consumer saved last, `None` if it saved none. See
    /// [`MessageStore::checkpoint`](crate::MessageStore::checkpoint).
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `consumer` for an invalid name. [`Fault::Unreachable`] or
    /// [`Fault::Refused`] if SQLite fails; [`Fault::Closed`] after [`BlockingSqliteStore::close`].
    pub fn checkpoint(&self, consumer: &str) -> Result<Option<Bookmark>, Error> {
        crate::Limits::check_consumer(consumer)?;
        let saved = |connection: &_| place::checkpoint(connection, consumer);
        self.shared.read(Holder::Page, saved)
    }

    /// The checkpoints of all consumers, ordered by the bytes of their names. See
    /// [`MessageStore::all_checkpoints`](crate::MessageStore::all_checkpoints).
    ///
    /// # Errors
    /// [`Fault::Unreachable`] or [`Fault::Refused`] if SQLite fails; [`Fault::Closed`] after
    /// [`BlockingSqliteStore::close`].
    pub fn all_checkpoints(&self) -> Result<Vec<Checkpoint>, Error> {
        self.shared.read(Holder::Scan, place::all_checkpoints)
    }

    /// Saves the last message that a consumer has handled, unless one with a greater position is saved.
    /// Returns the saved checkpoint. See
    /// [`MessageStore::save_checkpoint`](crate::MessageStore::save_checkpoint).
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `consumer` for an invalid name. [`Fault::Locked`] while
    /// another process holds the file's write lock; [`Fault::Unreachable`], [`Fault::Refused`] or
    /// [`Error::OutcomeUnknown`] if SQLite fails; [`Fault::Closed`] after
    /// [`BlockingSqliteStore::close`].
    pub fn save_checkpoint(
        &self,
        consumer: &str,
        handled: impl Into<Bookmark>,
    ) -> Result<Bookmark, Error> {
        crate::Limits::check_consumer(consumer)?;
        let handled = handled.into();
        let writer = &self.shared.writer;
        writer.change(|connection| place::save_checkpoint(connection, consumer, handled))
    }

    /// Deletes a consumer's checkpoint. Returns whether there was one. See
    /// [`MessageStore::delete_checkpoint`](crate::MessageStore::delete_checkpoint).
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `consumer` for an invalid name. [`Fault::Locked`] while
    /// another process holds the file's write lock; [`Fault::Unreachable`], [`Fault::Refused`] or
    /// [`Error::OutcomeUnknown`] if SQLite fails; [`Fault::Closed`] after
    /// [`BlockingSqliteStore::close`].
    pub fn delete_checkpoint(&self, consumer: &str) -> Result<bool, Error> {
        crate::Limits::check_consumer(consumer)?;
        self.shared.writer.change(|connection| {
            let deleted = connection.execute(statements::DELETE_CHECKPOINT, [consumer])?;
            Ok(deleted > 0)
        })
    }

    /// Writes a consistent copy of the store to a new file. Writers continue during the backup. When
    /// this returns, the copy is checked and on disk, and opens like any other store. Reads the whole
    /// file.
    ///
    /// # Errors
    /// [`Error::Io`] if the file exists or can't be written; [`Fault::DiskFull`]; [`Fault::Refused`] if
    /// SQLite fails or the copy is damaged; [`Fault::FileMoved`]; [`Fault::Closed`] after
    /// [`BlockingSqliteStore::close`].
    #[instrument(level = "debug", name = "messages.backup", skip_all)]
    pub fn backup(&self, path: &Path) -> Result<(), Error> {
        let copy = |connection: &_| Ok(backup(connection, path)?);
        self.shared.read(Holder::Backup, copy)
    }

    /// Subscribes to hints that messages may have been written. Only changes by this process send
    /// hints. See [`MessageStore::notifications`](crate::MessageStore::notifications).
    pub fn notifications(&self) -> Notifications {
        self.shared.writer.notifier().notifications()
    }

    /// Checks that SQLite answers, and reads the settings that decide about durability. See
    /// [`MessageStore::health`](crate::MessageStore::health).
    ///
    /// # Errors
    /// [`Fault::FileMoved`]; [`Error::ColumnsDiffer`]; [`Fault::Unreachable`] or [`Fault::Refused`] if
    /// SQLite fails; [`Fault::Closed`] after [`BlockingSqliteStore::close`].
    pub fn health(&self) -> Result<Health, Error> {
        if let Some(readers) = &self.shared.readers {
            readers.file().check()?;
        }
        // The read checks that the file is readable. The settings come from the writer's
        // connection.
        self.shared.read(Holder::Page, place::head)?;
        self.shared.read(Holder::Page, columns::require_at_ends)?;
        if self.shared.config.read_only {
            return self
                .shared
                .read(Holder::Page, |connection| Ok(reader_health(connection)?));
        }
        let guard = self.shared.writer.lock();
        let writer = guard.as_ref().ok_or(Error::Fault(Fault::Closed))?;
        Ok(writer_health(writer).map_err(Failure::from)?)
    }

    /// The store's counters since it was opened.
    pub fn stats(&self) -> Stats {
        let shared = &self.shared;
        let (blocking, tasks) = (shared.blocking_queue.stats(), shared.async_queue.stats());
        Stats {
            largest_batch: blocking.largest_batch.max(tasks.largest_batch) as u64,
            queued_writes: (blocking.queued + tasks.queued) as u64,
            ..self.shared.counters.stats()
        }
    }

    /// Closes the store. Queued writes of blocking callers finish; queued writes of async callers
    /// fail with [`Fault::Closed`], and so do new calls.
    pub fn close(&self) {
        // Close the queue first, because its last commit needs the connection.
        self.shared.blocking_queue.close();
        if let Some(readers) = &self.shared.readers {
            readers.close();
        }
        self.shared.writer.close();
    }
}

impl BlockingSqliteStore {
    /// Whether the blocking or the async store was closed.
    pub(super) fn is_closed(&self) -> bool {
        self.shared.blocking_queue.is_closed() || self.shared.async_queue.is_closed()
    }
}

impl Shared {
    /// Reads on a read connection, or on the writer's for a store in memory.
    pub(super) fn read<T>(
        &self,
        holder: Holder,
        read: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        Ok(match &self.readers {
            Some(readers) => readers.read(holder, read)?,
            None => {
                let _read = self.counters.metrics.store().reads().reading();
                read(
                    self.writer
                        .lock()
                        .as_ref()
                        .ok_or(Error::Fault(Fault::Closed))?,
                )?
            }
        })
    }

    /// The error of a write without a verdict.
    pub(super) fn without_verdict(&self, failed: SubmitError<Error>, ticket: Ticket) -> Error {
        let Ticket { ids, claim } = ticket;
        let call = ("write", self.config.write_timeout);
        let unknown = || Error::OutcomeUnknown {
            ids: ids.into_vec(),
        };
        let delays = self.writer.delays();
        delays.without_verdict(failed, &claim, call, unknown)
    }
}

/// Splits the positions into one list per stream. `counts` contains the number of messages of each
/// stream.
pub(super) fn split_by_stream(counts: &[usize], mut written: &[Written]) -> Vec<Vec<Written>> {
    let mut lists = Vec::with_capacity(counts.len());
    for &count in counts {
        let (list, rest) = written.split_at(count);
        lists.push(list.to_vec());
        written = rest;
    }
    lists
}
