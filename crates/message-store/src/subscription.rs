use std::collections::VecDeque;
use std::time::Duration;

use crate::{
    Category, CategoryRead, ConsumerGroup, Error, GlobalPosition, MessageStore, Notifications,
    Position, RecordedMessage, StreamName, StreamRead,
};

/// Settings of a [`Subscription`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubscribeOptions {
    /// Maximum number of messages per read, and therefore in memory. Default: 100.
    pub batch_size: u64,
    /// How long to wait for a hint before reading without one. Default: 1 s. On SQLite only writes
    /// of this process send hints; writes of other processes are found by polling.
    pub poll_interval: Duration,
}

impl Default for SubscribeOptions {
    fn default() -> Self {
        Self {
            batch_size: 100,
            poll_interval: Duration::from_secs(1),
        }
    }
}

impl SubscribeOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// At most this number of messages per read.
    #[must_use]
    pub fn batch_size(mut self, batch_size: u64) -> Self {
        self.batch_size = batch_size;
        self
    }

    /// Reads without a hint after this time.
    #[must_use]
    pub fn poll_interval(mut self, poll_interval: Duration) -> Self {
        self.poll_interval = poll_interval;
        self
    }
}

/// The messages of a stream, a category or a whole store: stored ones first, then new ones as they
/// are written, each once and in order.
///
/// A subscription reads one page after another, by position. Hints wake it. The same reads serve
/// stored and new messages, so no message is lost between the two. A slow reader loses nothing and
/// costs the store no memory beyond its current page. To continue later, save the position of the
/// last handled message as a checkpoint and subscribe from the position after it.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), message_store::Error> {
/// # #[cfg(feature = "sqlite")] {
/// use message_store::sqlite::{Config, SqliteStore};
/// use message_store::{
///     Category, ExpectedVersion, GlobalPosition, Message, MessageStore, StreamName,
///     SubscribeOptions,
/// };
///
/// let store = SqliteStore::open(Config::memory()).await?;
/// let account = StreamName::new("account-1")?;
/// let opened = Message::builder("Opened").build()?;
/// store.write_message(&account, opened, ExpectedVersion::Any).await?;
///
/// let (accounts, options) = (Category::of(&account), SubscribeOptions::new());
/// let mut accounts = store.subscribe_to_category(accounts, GlobalPosition::START, options);
/// assert_eq!(accounts.next().await?.message_type(), "Opened");
/// assert_eq!(accounts.lag().await?, 0);
/// # }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Subscription<S> {
    store: S,
    source: Source,
    options: SubscribeOptions,
    notifications: Notifications,
    page: VecDeque<RecordedMessage>,
    /// Used for a member of a consumer group: all its messages before this position are in `page`
    /// or were already returned. The next read starts here, so it does not scan the messages of
    /// other members again.
    scanned_to: GlobalPosition,
}

/// The messages to read, and the first position of the next page.
#[derive(Debug)]
pub(crate) enum Source {
    Stream(StreamName, Position),
    Category(Category, Option<ConsumerGroup>, GlobalPosition),
}

impl<S: MessageStore> Subscription<S> {
    pub(crate) fn new(store: S, source: Source, options: SubscribeOptions) -> Self {
        Self {
            // Subscribe to hints before the first read, so that a write in between wakes the
            // subscription.
            notifications: store.notifications(),
            store,
            source,
            options,
            page: VecDeque::new(),
            scanned_to: GlobalPosition::new(0),
        }
    }

    /// Waits until there is a next message and returns it. Cancel safe: a cancelled call loses no
    /// message.
    ///
    /// # Errors
    /// The errors of [`MessageStore::get_stream_messages`] for a stream, or of
    /// [`MessageStore::get_category_messages`] and [`MessageStore::head`]. After an error, the next
    /// call reads again.
    pub async fn next(&mut self) -> Result<RecordedMessage, Error> {
        loop {
            if let Some(message) = self.try_next().await? {
                return Ok(message);
            }
            let hint = self.notifications.changed();
            // Read again in either case: after a hint, and after a timeout, as hints can get lost.
            let _ = tokio::time::timeout(self.options.poll_interval, hint).await;
        }
    }

    /// Returns the next message, or `None` if there is none yet.
    ///
    /// # Errors
    /// The errors of [`MessageStore::get_stream_messages`] for a stream, or of
    /// [`MessageStore::get_category_messages`] and [`MessageStore::head`]. After an error, the next
    /// call reads again.
    pub async fn try_next(&mut self) -> Result<Option<RecordedMessage>, Error> {
        if self.page.is_empty() {
            self.page = self.read().await?.into();
        }
        let message = self.page.pop_front();
        if let Some(message) = &message {
            self.source.advance_past(message);
        }
        Ok(message)
    }

    /// Number of messages in memory, which the next calls return without a read.
    pub fn read_ahead(&self) -> usize {
        self.page.len()
    }

    /// Drops the messages in memory. The next call reads them again. Useful before a long wait for a
    /// slow consumer.
    pub fn drop_read_ahead(&mut self) {
        if !self.page.is_empty() {
            self.page = VecDeque::new();
            // The dropped messages may be before this position.
            self.scanned_to = GlobalPosition::new(0);
        }
    }

    /// How far the subscription is behind. For a stream this is the number of messages left; for a
    /// category it is the number of global positions, which includes messages of other categories.
    ///
    /// # Errors
    /// The errors of [`MessageStore::head`] and [`MessageStore::stream_version`].
    pub async fn lag(&self) -> Result<u64, Error> {
        let head = self.store.head().await?.map_or(0, GlobalPosition::get);
        let behind = match &self.source {
            Source::Category(_, _, next) => (head + 1).saturating_sub(next.get()),
            Source::Stream(stream, next) => {
                let version = self.store.stream_version(stream).await?;
                let end = version.map_or(0, |version| version.get() + 1);
                end.saturating_sub(next.get())
            }
        };
        Ok(behind)
    }

    async fn read(&mut self) -> Result<Vec<RecordedMessage>, Error> {
        let batch_size = self.options.batch_size.max(1);
        match &mut self.source {
            Source::Stream(stream, next) => {
                let read = StreamRead::new().position(*next).batch_size(batch_size);
                self.store.get_stream_messages(stream, read).await
            }
            Source::Category(category, group, next) => {
                *next = self.scanned_to.max(*next);
                // The head is read before the page. If the page is not full, the messages between
                // its end and this head belong to other members and need not be scanned again.
                let head = match group {
                    Some(_) => self.store.head().await?,
                    None => None,
                };
                let mut read = CategoryRead::new().position(*next).batch_size(batch_size);
                read.consumer_group = *group;
                let page = self.store.get_category_messages(category, read).await?;
                if let Some(head) = head
                    && (page.len() as u64) < batch_size
                {
                    self.scanned_to = head.next();
                }
                Ok(page)
            }
        }
    }
}

impl Source {
    fn advance_past(&mut self, message: &RecordedMessage) {
        match self {
            Self::Stream(_, next) => *next = message.position().next(),
            Self::Category(_, _, next) => *next = message.global_position().next(),
        }
    }
}
