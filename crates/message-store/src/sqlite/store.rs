//! The async store. It runs the operations of the blocking store: short ones in the caller's task,
//! the others on tokio's blocking threads.

use std::fmt;
use std::future::Future;
use std::path::Path;
use std::time::SystemTime;

use sqlite_store::in_background;
use tracing::instrument;

use super::blocking::{BlockingSqliteStore, split_by_stream};
use super::config::Config;
use super::request::{Request, Verdict};
use crate::{
    Bookmark, Category, CategoryInfo, CategoryRead, Checkpoint, Error, ExpectedVersion, Fault,
    GlobalPosition, Health, ListStreams, Message, MessageStore, Metrics, Notifications, Position,
    RecordedMessage, Settled, Stats, StoreInfo, StreamInfo, StreamName, StreamRead, StreamWrite,
    Written,
};

/// Maximum number of messages of a read that runs in the caller's task.
const MAX_IN_TASK: u64 = 1000;

/// A message store in SQLite for async callers, on a tokio runtime with timers. Cheap to clone;
/// clones share connections and the queue.
///
/// Writes to a file commit on tokio's blocking threads. Writes that arrive during a commit share the
/// next one. Short reads run in the caller's task, and so do the writes of a store in memory. Long
/// reads, scans and deletions run on tokio's blocking threads.
#[derive(Clone)]
pub struct SqliteStore {
    blocking: BlockingSqliteStore,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SqliteStore")
            .field("location", &self.blocking.shared.config.location)
            .finish_non_exhaustive()
    }
}

impl SqliteStore {
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
    pub async fn open(config: Config) -> Result<Self, Error> {
        // Here, because a recorder may be installed for this thread only.
        let metrics = Metrics::new("sqlite");
        let open = move || BlockingSqliteStore::open_measured(config, metrics);
        let blocking = run_blocking(open).await?;
        Ok(Self { blocking })
    }

    /// The same store with blocking methods.
    pub fn blocking(&self) -> &BlockingSqliteStore {
        &self.blocking
    }

    /// Writes a consistent copy of the store to a new file. Writers continue during the backup. When
    /// this returns, the copy is checked and on disk, and opens like any other store. Reads the whole
    /// file.
    ///
    /// # Errors
    /// [`Error::Io`] if the file exists or can't be written; [`Fault::DiskFull`]; [`Fault::Refused`] if
    /// SQLite fails or the copy is damaged; [`Fault::FileMoved`]; [`Fault::Closed`] after
    /// [`MessageStore::close`].
    pub async fn backup(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref().to_owned();
        self.on_blocking_thread(move |store| store.backup(&path))
            .await
    }

    async fn submit(&self, request: Request) -> Verdict {
        let shared = &self.blocking.shared;
        let ticket = request.ticket();
        let deadline = tokio::time::sleep(shared.config.write_timeout);
        let metrics = &shared.counters.metrics;
        let _waiting = metrics.store().begins();
        let outcome = shared.async_queue.submit_until(request, deadline).await;
        let ended = outcome.unwrap_or_else(|error| Err(shared.without_verdict(error, ticket)));
        metrics.write_ended(&ended);
        ended
    }

    /// Whether a short read has a connection at once, so that it may run in the caller's task.
    fn can_read_now(&self) -> bool {
        let readers = self.blocking.shared.readers.as_ref();
        readers.is_none_or(|readers| !readers.are_all_in_use())
    }

    fn on_blocking_thread<T: Send + 'static>(
        &self,
        call: impl FnOnce(&BlockingSqliteStore) -> Result<T, Error> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> + Send + 'static {
        let store = self.blocking.clone();
        run_blocking(move || call(&store))
    }
}

impl From<BlockingSqliteStore> for SqliteStore {
    fn from(blocking: BlockingSqliteStore) -> Self {
        Self { blocking }
    }
}

/// Runs a call on one of tokio's blocking threads.
pub(super) async fn run_blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    // Without a result, the runtime is shutting down and dropped the call before it ran.
    in_background(call)
        .await
        .unwrap_or(Err(Fault::Closed.into()))
}

fn is_short(batch_size: Option<u64>) -> bool {
    batch_size.is_some_and(|messages| messages <= MAX_IN_TASK)
}

impl MessageStore for SqliteStore {
    #[instrument(level = "debug", name = "messages.write_streams", skip_all)]
    async fn write_streams(&self, writes: Vec<StreamWrite>) -> Result<Vec<Vec<Written>>, Error> {
        let request = Request::from_streams(&self.blocking.shared.config, writes)?;
        let counts = request.counts();
        Ok(split_by_stream(
            &counts,
            self.submit(request).await?.as_slice(),
        ))
    }

    #[instrument(level = "debug", name = "messages.write_batch", skip_all)]
    async fn write_batch(
        &self,
        stream: &StreamName,
        messages: Vec<Message>,
        expected_version: ExpectedVersion,
    ) -> Result<Vec<Written>, Error> {
        let config = &self.blocking.shared.config;
        let request = Request::from_batch(config, stream, messages, expected_version)?;
        Ok(self.submit(request).await?.into_vec())
    }

    #[instrument(level = "debug", name = "messages.write_message", skip_all)]
    async fn write_message(
        &self,
        stream: &StreamName,
        message: Message,
        expected_version: ExpectedVersion,
    ) -> Result<Written, Error> {
        let config = &self.blocking.shared.config;
        let request = Request::from_message(config, stream, message, expected_version)?;
        Ok(self.submit(request).await?.as_slice()[0])
    }

    async fn import_messages(&self, messages: Vec<RecordedMessage>) -> Result<u64, Error> {
        self.on_blocking_thread(move |store| store.import_messages(&messages))
            .await
    }

    async fn get_stream_messages(
        &self,
        stream: &StreamName,
        read: StreamRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        if is_short(read.batch_size) && self.can_read_now() {
            return self.blocking.get_stream_messages(stream, read);
        }
        let stream = stream.clone();
        self.on_blocking_thread(move |store| store.get_stream_messages(&stream, read))
            .await
    }

    async fn get_category_messages(
        &self,
        category: &Category,
        read: CategoryRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        // A filter may scan many messages to fill a short page.
        let is_selective = read.consumer_group.is_some() || !read.correlation.is_all();
        if is_short(read.batch_size) && !is_selective && self.can_read_now() {
            return self.blocking.get_category_messages(category, &read);
        }
        let category = category.clone();
        self.on_blocking_thread(move |store| store.get_category_messages(&category, &read))
            .await
    }

    async fn get_last_stream_message(
        &self,
        stream: &StreamName,
        message_type: Option<&str>,
    ) -> Result<Option<RecordedMessage>, Error> {
        // The last message of a type may be far from the end of the stream, so the search may take
        // long.
        if message_type.is_none() && self.can_read_now() {
            return self.blocking.get_last_stream_message(stream, None);
        }
        let (stream, message_type) = (stream.clone(), message_type.map(str::to_owned));
        self.on_blocking_thread(move |store| {
            store.get_last_stream_message(&stream, message_type.as_deref())
        })
        .await
    }

    // Runs in the caller's task, like `head` and `checkpoint`, because a single index search takes
    // less time than a thread switch.
    async fn stream_version(&self, stream: &StreamName) -> Result<Option<Position>, Error> {
        if self.can_read_now() {
            return self.blocking.stream_version(stream);
        }
        let stream = stream.clone();
        self.on_blocking_thread(move |store| store.stream_version(&stream))
            .await
    }

    async fn head(&self) -> Result<Option<Bookmark>, Error> {
        if self.can_read_now() {
            return self.blocking.head();
        }
        self.on_blocking_thread(BlockingSqliteStore::head).await
    }

    // Commits follow each other, so the head tells all.
    async fn settled(&self) -> Result<Option<Settled>, Error> {
        let head = self.head().await?;
        let drawn = head.map_or(GlobalPosition::new(0), |head| head.position);
        Ok(Some(Settled { drawn, head }))
    }

    async fn list_streams(&self, list: ListStreams) -> Result<Vec<StreamInfo>, Error> {
        self.on_blocking_thread(move |store| store.list_streams(&list))
            .await
    }

    async fn list_categories(&self) -> Result<Vec<CategoryInfo>, Error> {
        self.on_blocking_thread(BlockingSqliteStore::list_categories)
            .await
    }

    async fn info(&self) -> Result<StoreInfo, Error> {
        self.on_blocking_thread(BlockingSqliteStore::info).await
    }

    async fn truncate_stream(&self, stream: &StreamName, before: Position) -> Result<u64, Error> {
        let stream = stream.clone();
        self.on_blocking_thread(move |store| store.truncate_stream(&stream, before))
            .await
    }

    async fn expire_messages(&self, category: &Category, before: SystemTime) -> Result<u64, Error> {
        let category = category.clone();
        self.on_blocking_thread(move |store| store.expire_messages(&category, before))
            .await
    }

    async fn checkpoint(&self, consumer: &str) -> Result<Option<Bookmark>, Error> {
        if self.can_read_now() {
            return self.blocking.checkpoint(consumer);
        }
        let consumer = consumer.to_owned();
        self.on_blocking_thread(move |store| store.checkpoint(&consumer))
            .await
    }

    async fn all_checkpoints(&self) -> Result<Vec<Checkpoint>, Error> {
        self.on_blocking_thread(BlockingSqliteStore::all_checkpoints)
            .await
    }

    async fn save_checkpoint(
        &self,
        consumer: &str,
        handled: impl Into<Bookmark> + Send,
    ) -> Result<Bookmark, Error> {
        // This write bypasses the queue, so it may sleep until another process releases its lock.
        let (consumer, handled) = (consumer.to_owned(), handled.into());
        self.on_blocking_thread(move |store| store.save_checkpoint(&consumer, handled))
            .await
    }

    async fn delete_checkpoint(&self, consumer: &str) -> Result<bool, Error> {
        let consumer = consumer.to_owned();
        self.on_blocking_thread(move |store| store.delete_checkpoint(&consumer))
            .await
    }

    fn notifications(&self) -> Notifications {
        self.blocking.notifications()
    }

    fn metrics(&self) -> Metrics {
        self.blocking.shared.counters.metrics.clone()
    }

    async fn health(&self) -> Result<Health, Error> {
        self.on_blocking_thread(BlockingSqliteStore::health).await
    }

    fn stats(&self) -> Stats {
        self.blocking.stats()
    }

    async fn close(&self) {
        self.blocking.shared.async_queue.close().await;
        let blocking = self.blocking.clone();
        // An error means that the runtime is shutting down; then dropping the last clone closes the
        // connections.
        let _ = run_blocking(move || {
            blocking.close();
            Ok(())
        })
        .await;
    }
}
