use std::collections::VecDeque;
use std::time::Duration;

use crate::{
    Category, CategoryRead, ConsumerGroup, Error, GlobalPosition, MessageStore, Notifications,
    Position, RecordedMessage, StreamName, StreamRead,
};

/// What a subscription reads, and how.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubscribeOptions {
    /// The most messages that one read fetches, and so the most that are held. Default: 100.
    pub batch_size: u64,
    /// How long to wait for a hint before looking for oneself. Default: 1 s. Hints come from this
    /// process in SQLite; what other processes write is found by looking.
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

/// The messages of a stream, a category or a whole store: those that are there, then those that
/// come, each once and in order.
///
/// A subscription is a reader that pages by position, woken by hints. So there is no seam between
/// what was there and what comes, a slow reader loses nothing, and nothing is kept for it but the
/// page that it is at. Where it stands is a position: save it as a checkpoint, and begin after it.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), message_store::Error> {
/// # #[cfg(feature = "sqlite")] {
/// use message_store::sqlite::{Config, SqliteStore};
/// use message_store::{
///     Category, ExpectedVersion, GlobalPosition, Message, MessageStore, StreamName, Subscription,
/// };
///
/// let store = SqliteStore::open(Config::memory()).await?;
/// let account = StreamName::new("account-1")?;
/// let opened = Message::builder("Opened").build()?;
/// store.write_message(&account, opened, ExpectedVersion::Any).await?;
///
/// let mut accounts =
///     Subscription::to_category(store, Category::of(&account), GlobalPosition::START);
/// assert_eq!(accounts.next().await?.message_type(), "Opened");
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
    /// Where to go on once the page is handed out, if all before it is known to be passed.
    passed: GlobalPosition,
}

/// What is read, and from where on the next page begins.
#[derive(Debug)]
enum Source {
    Stream(StreamName, Position),
    Category(Category, Option<ConsumerGroup>, GlobalPosition),
}

impl<S: MessageStore> Subscription<S> {
    /// The messages of a stream from a position on, inclusive.
    pub fn to_stream(store: S, stream: StreamName, from: Position) -> Self {
        Self::new(store, Source::Stream(stream, from))
    }

    /// The messages of a category, or of all, from a global position on, inclusive.
    pub fn to_category(store: S, category: Category, from: GlobalPosition) -> Self {
        Self::new(store, Source::Category(category, None, from))
    }

    /// The messages of a category that are those of one member of a group.
    pub fn to_group(
        store: S,
        category: Category,
        group: ConsumerGroup,
        from: GlobalPosition,
    ) -> Self {
        Self::new(store, Source::Category(category, Some(group), from))
    }

    fn new(store: S, source: Source) -> Self {
        Self {
            notifications: store.notifications(),
            store,
            source,
            options: SubscribeOptions::default(),
            page: VecDeque::new(),
            passed: GlobalPosition::new(0),
        }
    }

    /// With these options.
    #[must_use]
    pub fn options(mut self, options: SubscribeOptions) -> Self {
        self.options = options;
        self
    }

    /// The next message; waits until there is one. Cancelled, it loses nothing.
    ///
    /// # Errors
    /// What the read met; the next call tries it again.
    pub async fn next(&mut self) -> Result<RecordedMessage, Error> {
        loop {
            if let Some(message) = self.try_next().await? {
                return Ok(message);
            }
            let hint = self.notifications.changed();
            // Whether a hint came or the time is over: the answer is in the store.
            let _ = tokio::time::timeout(self.options.poll_interval, hint).await;
        }
    }

    /// The next message, `None` where there is none now.
    ///
    /// # Errors
    /// As [`Subscription::next`].
    pub async fn try_next(&mut self) -> Result<Option<RecordedMessage>, Error> {
        if self.page.is_empty() {
            self.page = self.read().await?.into();
        }
        let message = self.page.pop_front();
        if let Some(message) = &message {
            self.source.pass(message);
        }
        Ok(message)
    }

    /// How far behind the subscription is: of a stream, how many messages are still to come; of a
    /// category, how many global positions, some of which may belong to others.
    ///
    /// # Errors
    /// What the backend met.
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
                *next = self.passed.max(*next);
                // What others of the group read is passed once, not with each read.
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
                    self.passed = head.next();
                }
                Ok(page)
            }
        }
    }
}

impl Source {
    /// Goes on after a message.
    fn pass(&mut self, message: &RecordedMessage) {
        match self {
            Self::Stream(_, next) => *next = message.position().next(),
            Self::Category(_, _, next) => *next = message.global_position().next(),
        }
    }
}
