use std::collections::VecDeque;
use std::time::Duration;

use group_commit::Backoff;

use crate::following::Following;
use crate::{
    Bookmark, Category, CategoryRead, ConsumerGroup, Error, MessageStore, Notifications,
    RecordedMessage, Settled, Start, StreamName, StreamRead,
};

/// Settings of a [`Subscription`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SubscribeOptions {
    /// Maximum number of messages per read, and therefore in memory. Default: 100.
    pub batch_size: u64,
    /// How long to wait for a hint before looking without one. Default: 1 s. On SQLite only writes
    /// of this process send hints; writes of other processes are found by polling. All readers of a store
    /// that wait share one look, so idle ones cost no more than one does.
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
/// costs the store no memory beyond its current page. To continue later, save the bookmark of the
/// last handled message as a checkpoint and subscribe from that checkpoint.
///
/// Each read checks that the store still has the last message that the subscription returned. If the
/// past was replaced, by a restore or a failover, the subscription ends: this and every later call fail
/// with [`Error::PastReplaced`] or [`Error::AfterBeyondHead`]. A subscription that began at a plain
/// position, and has not returned a message yet, can only notice a store that ends before the position.
///
/// [`Subscription::next`] waits out an outage, as a subscription of `dcb-core` does: after a transient error
/// it pauses for 20 ms to 2 s and reads again. [`Subscription::try_next`] returns every error. A
/// [`MessageRunner`](crate::MessageRunner) also saves the place of its consumer, and repeats a handler that
/// fails.
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
    /// Used for a member of a consumer group: all its messages up to this one are in `page` or were
    /// already returned. The next read starts after it, so it does not scan the messages of other
    /// members again.
    scanned: Option<Bookmark>,
    /// What was settled before the last read, if that read has returned all there was.
    seen: Option<Settled>,
    following: Following,
    /// The pauses of an outage.
    backoff: Backoff,
    /// Why the subscription has ended.
    end: Option<Error>,
}

/// The messages to read, and the start of the next page.
#[derive(Debug)]
pub(crate) enum Source {
    Stream(StreamRead, StreamName),
    Category(Start, Category, Option<ConsumerGroup>),
}

impl<S: MessageStore> Subscription<S> {
    pub(crate) fn new(store: S, source: Source, options: SubscribeOptions) -> Self {
        Self {
            // Subscribe to hints before the first read, so that a write in between wakes the
            // subscription.
            notifications: store.notifications(),
            following: Following::new(store.metrics()),
            store: store.for_follower(),
            source,
            options,
            page: VecDeque::new(),
            scanned: None,
            seen: None,
            backoff: Backoff::default(),
            end: None,
        }
    }

    /// Waits until there is a next message and returns it. Cancel safe: a cancelled call loses no
    /// message.
    ///
    /// # Errors
    /// The errors of [`MessageStore::get_stream_messages`] for a stream, or of
    /// [`MessageStore::get_category_messages`] and [`MessageStore::head`], but for transient ones
    /// ([`Error::is_transient`]): after these it pauses and reads again. After
    /// [`Error::PastReplaced`] or [`Error::AfterBeyondHead`] each call fails with the same error; after
    /// any other error, the next call reads again.
    pub async fn next(&mut self) -> Result<RecordedMessage, Error> {
        loop {
            match self.try_next().await {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => {}
                Err(error) if error.is_transient() => {
                    self.following.retries();
                    self.backoff.pause().await;
                    continue;
                }
                Err(error) => return Err(error),
            }
            self.following.waits();
            let interval = self.options.poll_interval;
            let news = self.notifications.news(&self.store, self.seen, interval);
            news.await;
        }
    }

    /// Returns the next message, or `None` if there is none yet.
    ///
    /// # Errors
    /// The errors of [`MessageStore::get_stream_messages`] for a stream, or of
    /// [`MessageStore::get_category_messages`] and [`MessageStore::head`]. After
    /// [`Error::PastReplaced`] or [`Error::AfterBeyondHead`] each call fails with the same error; after
    /// any other error, the next call reads again.
    pub async fn try_next(&mut self) -> Result<Option<RecordedMessage>, Error> {
        if self.page.is_empty() {
            self.page = self.next_page().await?.into();
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
            // The dropped messages may be before this one.
            self.scanned = None;
        }
    }

    /// How far the subscription is behind. For a stream this is the number of messages left; for a
    /// category it is the number of global positions, which includes messages of other categories.
    /// Costs two reads. A subscription whose past was replaced has no lag, so it fails.
    ///
    /// # Errors
    /// The errors of [`MessageStore::head`], [`MessageStore::stream_version`] and
    /// [`Subscription::try_next`].
    pub async fn lag(&self) -> Result<u64, Error> {
        if let Some(end) = &self.end {
            return Err(end.clone());
        }
        // A page of no messages: only the check of the reader's place.
        self.read(0).await?;
        let next = match &self.source {
            Source::Category(start, ..) => self.past_scanned(*start).next.get(),
            Source::Stream(read, _) => read.position.get(),
        };
        Ok(self.end().await?.saturating_sub(next))
    }

    /// The position of the next message that is written to the log, or to the stream.
    async fn end(&self) -> Result<u64, Error> {
        Ok(match &self.source {
            Source::Category(..) => Start::from(self.store.head().await?).next.get(),
            Source::Stream(_, stream) => {
                let version = self.store.stream_version(stream).await?;
                version.map_or(0, |version| version.get() + 1)
            }
        })
    }

    /// Records how many positions come after this page.
    async fn record_lag(&mut self, page: &[RecordedMessage]) {
        if (page.len() as u64) < self.options.batch_size.max(1) {
            return self.following.record_lag(0);
        }
        if let Some(last) = page.last().filter(|_| self.following.looks()) {
            let next = match &self.source {
                Source::Category(..) => last.global_position().get() + 1,
                Source::Stream(..) => last.position().get() + 1,
            };
            // Without an answer the old lag stays. The next read tells of the error.
            if let Ok(end) = self.end().await {
                self.following.record_lag(end.saturating_sub(next));
            }
        }
    }

    async fn next_page(&mut self) -> Result<Vec<RecordedMessage>, Error> {
        if let Some(end) = &self.end {
            return Err(end.clone());
        }
        let settled = self.notifications.settled();
        let page = self.read_on().await;
        if let Err(end @ (Error::PastReplaced { .. } | Error::AfterBeyondHead { .. })) = &page {
            self.end = Some(end.clone());
        }
        if let Ok(page) = &page {
            self.backoff.reset();
            let is_full = page.len() as u64 >= self.options.batch_size.max(1);
            self.seen = settled.filter(|_| !is_full);
            self.record_lag(page).await;
        }
        page
    }

    async fn read_on(&mut self) -> Result<Vec<RecordedMessage>, Error> {
        let batch_size = self.options.batch_size.max(1);
        // The head is read before the page. If the page is not full, the messages between its end and
        // this head belong to other members and need not be scanned again.
        let head = match self.source {
            Source::Category(_, _, Some(_)) => self.store.head().await?,
            _ => None,
        };
        let page = self.read(batch_size).await?;
        if head.is_some() && (page.len() as u64) < batch_size {
            self.scanned = head;
        }
        Ok(page)
    }

    /// The start of the next page, past the messages of other members.
    fn past_scanned(&self, start: Start) -> Start {
        let scanned = self.scanned.map(Start::from);
        let further = scanned.filter(|scanned| scanned.next > start.next);
        further.unwrap_or(start)
    }

    /// Reads a page, and checks that the store still has the newest message that is known.
    async fn read(&self, batch_size: u64) -> Result<Vec<RecordedMessage>, Error> {
        match &self.source {
            Source::Stream(read, stream) => {
                let read = read.batch_size(batch_size);
                self.store.get_stream_messages(stream, read).await
            }
            Source::Category(start, category, group) => {
                let start = self.past_scanned(*start);
                let mut read = CategoryRead::new().start(start).batch_size(batch_size);
                read.consumer_group = *group;
                self.store.get_category_messages(category, read).await
            }
        }
    }
}

impl Source {
    fn advance_past(&mut self, message: &RecordedMessage) {
        match self {
            Self::Stream(read, _) => *read = read.after(message),
            Self::Category(start, ..) => *start = message.bookmark().into(),
        }
    }
}
