use std::fmt;
use std::future::Future;
use std::path::Path;
use std::time::SystemTime;

use tracing::instrument;

use super::blocking::{BlockingSqliteStore, split};
use super::config::Config;
use super::request::{Request, Verdict};
use crate::{
    Category, CategoryInfo, CategoryRead, Error, ExpectedVersion, GlobalPosition, Health,
    ListStreams, Message, MessageStore, Notifications, Position, RecordedMessage, Stats, StoreInfo,
    StreamInfo, StreamName, StreamRead, StreamWrite, Written,
};

/// Reads of up to so many messages are done in the caller's task.
const SHORT_READ: u64 = 1000;

/// A message store in SQLite for async callers, on a tokio runtime with timers. Cheap to clone;
/// clones share connections and the queue.
///
/// A write that finds the store idle is committed within the caller's task, and blocks that task's
/// thread for one commit: an fsync with [`Durability::Full`](super::Durability::Full). To hand it
/// to another thread and back costs several times what SQLite needs for it. Writes that come
/// meanwhile wait without a thread, and share the next commit. Short reads run in the caller's task
/// too. Long ones, and all that scans or deletes, go to tokio's threads for blocking work.
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
    /// As [`BlockingSqliteStore::open`].
    ///
    /// # Errors
    /// As there.
    pub async fn open(config: Config) -> Result<Self, Error> {
        let blocking = run_blocking(move || BlockingSqliteStore::open(config)).await?;
        Ok(Self { blocking })
    }

    /// The same store for threads.
    pub fn blocking(&self) -> &BlockingSqliteStore {
        &self.blocking
    }

    /// As [`BlockingSqliteStore::backup`].
    ///
    /// # Errors
    /// As there.
    pub async fn backup(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref().to_owned();
        self.off_task(move |store| store.backup(&path)).await
    }

    async fn submit(&self, request: Request) -> Verdict {
        let shared = &self.blocking.shared;
        let ids = request.ids();
        let deadline = tokio::time::sleep(shared.config.write_timeout);
        let outcome = shared.tasks.submit_until(request, deadline).await;
        outcome.unwrap_or_else(|error| Err(shared.failure(error, ids)))
    }

    fn off_task<T: Send + 'static>(
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

/// Runs a call on a thread that may block.
pub(super) async fn run_blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(call).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => Err(Error::Closed),
        },
    }
}

fn is_short(batch_size: Option<u64>) -> bool {
    batch_size.is_some_and(|messages| messages <= SHORT_READ)
}

impl MessageStore for SqliteStore {
    #[instrument(level = "debug", name = "messages.write_streams", skip_all)]
    async fn write_streams(&self, writes: Vec<StreamWrite>) -> Result<Vec<Vec<Written>>, Error> {
        let request = Request::of_streams(&self.blocking.shared.config.limits, writes)?;
        let counts = request.counts();
        Ok(split(&counts, self.submit(request).await?.as_slice()))
    }

    #[instrument(level = "debug", name = "messages.write_batch", skip_all)]
    async fn write_batch(
        &self,
        stream: &StreamName,
        messages: Vec<Message>,
        expected_version: ExpectedVersion,
    ) -> Result<Vec<Written>, Error> {
        let limits = &self.blocking.shared.config.limits;
        let request = Request::of_batch(limits, stream, messages, expected_version)?;
        Ok(self.submit(request).await?.into_vec())
    }

    #[instrument(level = "debug", name = "messages.write_message", skip_all)]
    async fn write_message(
        &self,
        stream: &StreamName,
        message: Message,
        expected_version: ExpectedVersion,
    ) -> Result<Written, Error> {
        let limits = &self.blocking.shared.config.limits;
        let request = Request::of_message(limits, stream, message, expected_version)?;
        Ok(self.submit(request).await?.as_slice()[0])
    }

    async fn import_messages(&self, messages: Vec<RecordedMessage>) -> Result<u64, Error> {
        self.off_task(move |store| store.import_messages(&messages))
            .await
    }

    async fn get_stream_messages(
        &self,
        stream: &StreamName,
        read: StreamRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        if is_short(read.batch_size) {
            return self.blocking.get_stream_messages(stream, read);
        }
        let stream = stream.clone();
        self.off_task(move |store| store.get_stream_messages(&stream, read))
            .await
    }

    async fn get_category_messages(
        &self,
        category: &Category,
        read: CategoryRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        // What leaves messages out may have to pass many.
        let is_selective = read.consumer_group.is_some() || !read.correlation.is_all();
        if is_short(read.batch_size) && !is_selective {
            return self.blocking.get_category_messages(category, &read);
        }
        let category = category.clone();
        self.off_task(move |store| store.get_category_messages(&category, &read))
            .await
    }

    async fn get_last_stream_message(
        &self,
        stream: &StreamName,
        message_type: Option<&str>,
    ) -> Result<Option<RecordedMessage>, Error> {
        let Some(message_type) = message_type.map(str::to_owned) else {
            return self.blocking.get_last_stream_message(stream, None);
        };
        let stream = stream.clone();
        self.off_task(move |store| store.get_last_stream_message(&stream, Some(&message_type)))
            .await
    }

    async fn stream_version(&self, stream: &StreamName) -> Result<Option<Position>, Error> {
        self.blocking.stream_version(stream)
    }

    async fn head(&self) -> Result<Option<GlobalPosition>, Error> {
        self.blocking.head()
    }

    async fn list_streams(&self, list: ListStreams) -> Result<Vec<StreamInfo>, Error> {
        self.off_task(move |store| store.list_streams(&list)).await
    }

    async fn list_categories(&self) -> Result<Vec<CategoryInfo>, Error> {
        self.off_task(BlockingSqliteStore::list_categories).await
    }

    async fn info(&self) -> Result<StoreInfo, Error> {
        self.off_task(BlockingSqliteStore::info).await
    }

    async fn truncate_stream(&self, stream: &StreamName, before: Position) -> Result<u64, Error> {
        let stream = stream.clone();
        self.off_task(move |store| store.truncate_stream(&stream, before))
            .await
    }

    async fn expire_messages(&self, category: &Category, before: SystemTime) -> Result<u64, Error> {
        let category = category.clone();
        self.off_task(move |store| store.expire_messages(&category, before))
            .await
    }

    async fn checkpoint(&self, consumer: &str) -> Result<Option<GlobalPosition>, Error> {
        self.blocking.checkpoint(consumer)
    }

    async fn save_checkpoint(
        &self,
        consumer: &str,
        position: GlobalPosition,
    ) -> Result<GlobalPosition, Error> {
        let consumer = consumer.to_owned();
        self.off_task(move |store| store.save_checkpoint(&consumer, position))
            .await
    }

    async fn delete_checkpoint(&self, consumer: &str) -> Result<bool, Error> {
        let consumer = consumer.to_owned();
        self.off_task(move |store| store.delete_checkpoint(&consumer))
            .await
    }

    fn notifications(&self) -> Notifications {
        self.blocking.notifications()
    }

    async fn health(&self) -> Result<Health, Error> {
        self.off_task(BlockingSqliteStore::health).await
    }

    fn stats(&self) -> Stats {
        self.blocking.stats()
    }

    async fn close(&self) {
        self.blocking.shared.tasks.close().await;
        let blocking = self.blocking.clone();
        // A runtime that is shutting down closes the connections with the last clone.
        let _ = run_blocking(move || {
            blocking.close();
            Ok(())
        })
        .await;
    }
}
