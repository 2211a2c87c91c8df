use std::future::Future;
use std::sync::Arc;
use std::time::SystemTime;

use crate::derived;
use crate::forward::forward_message_store;
use crate::subscription::Source;
use crate::{
    Bookmark, Category, CategoryInfo, CategoryRead, Checkpoint, ConsumerGroup, Error,
    ExpectedVersion, Health, Limits, ListStreams, Message, Metrics, Notifications, Position,
    RecordedMessage, Settled, Start, Stats, StoreInfo, StreamInfo, StreamName, StreamRead,
    StreamWrite, SubscribeOptions, Subscription, Written,
};

/// Stores messages in streams. A read returns one stream or all streams of a category.
///
/// Positions of a stream are 0, 1, 2 … without gaps. Retention deletes from the front, and an
/// imported stream may start at any position. Global positions increase in the order in which
/// readers see the messages: a reader that pages a category, or all messages, by global position
/// never misses a message that is committed later.
///
/// All methods take `&self`. Share a store by reference, as a clone or in an `Arc`.
///
/// The future of a call may be held without being polled, as `tokio::select!` does with `&mut call`.
/// Then only this call waits. Dropping the future of a write withdraws the write if it still waits
/// in a queue; a write whose commit has begun is committed.
///
/// Any call may fail with the [`Fault`](crate::Fault) of a database that can't be reached, gives no answer in
/// time or refuses the call, and with [`Fault::Closed`](crate::Fault) after [`MessageStore::close`].
///
/// A store of your own needs ten methods. The others follow from these; override one where your store has
/// a faster way. `message-conformance` tests a store.
pub trait MessageStore: Send + Sync {
    /// Writes to several streams atomically: all messages or none. Returns the positions in the
    /// order of the messages, one list per stream.
    ///
    /// Writing is idempotent by id. A repeated write with the same ids and the same content returns
    /// the positions of the first write, whether or not the expected version still matches. Content
    /// is the stream, the type, the data and the metadata; the latter two are compared as JSON
    /// values ([`same_json`](crate::same_json)). The entry `traceparent` of the metadata is no content.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, Message, MessageStore};
    /// # use message_store::{Position, StreamName, StreamWrite};
    /// # use serde_json::json;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// let payer = StreamName::new("account-123")?;
    /// let payee = StreamName::new("account-456")?;
    /// let withdrawn = Message::builder("Withdrawn").data(&json!({"amount": 5})).build()?;
    /// let deposited = Message::builder("Deposited").data(&json!({"amount": 5})).build()?;
    /// let written = store
    ///     .write_streams(vec![
    ///         StreamWrite::new(payer, withdrawn),
    ///         StreamWrite::new(payee, deposited).expected_version(ExpectedVersion::NoStream),
    ///     ])
    ///     .await?;
    /// assert_eq!(written[1][0].position, Position::START);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Nothing was written if one of these holds. Every backend checks them in this order:
    /// 1. [`Error::Invalid`] and, for an id that occurs twice in the write, [`Error::DuplicateId`],
    ///    as for [`Limits::check_streams`](crate::Limits::check_streams);
    /// 2. [`Error::DuplicateId`] for an id in the store. If only some of the messages are stored,
    ///    the error names the first stored one; if all are stored, it names the first with
    ///    different content. A message without an id counts as not stored;
    /// 3. [`Error::WrongExpectedVersion`] for the first stream whose version is not the expected
    ///    one.
    ///
    /// [`Error::OutcomeUnknown`] if the connection broke or the commit failed partway: write again with
    /// the same ids. [`Error::Fault`] from the database; [`Fault::Panicked`](crate::Fault) for a bug in
    /// the store.
    ///
    /// # Dropped futures
    /// All messages may be in the store, or none. Write them again with the same ids, as for
    /// [`MessageStore::write_message`].
    fn write_streams(
        &self,
        writes: Vec<StreamWrite>,
    ) -> impl Future<Output = Result<Vec<Vec<Written>>, Error>> + Send;

    /// Writes messages to one stream atomically.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, Message, MessageStore, Position, StreamName};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// let order = StreamName::new("order-7")?;
    /// let placed = Message::builder("Placed").build()?;
    /// let paid = Message::builder("Paid").build()?;
    /// let messages = vec![placed, paid];
    /// let written = store.write_batch(&order, messages, ExpectedVersion::NoStream).await?;
    /// assert_eq!(written[1].position, Position::new(1));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] as for [`Limits::check_batch`](crate::Limits::check_batch); otherwise the
    /// errors of [`MessageStore::write_streams`].
    ///
    /// # Dropped futures
    /// All messages may be in the store, or none. Write them again with the same ids, as for
    /// [`MessageStore::write_message`].
    fn write_batch(
        &self,
        stream: &StreamName,
        messages: Vec<Message>,
        expected_version: ExpectedVersion,
    ) -> impl Future<Output = Result<Vec<Written>, Error>> + Send {
        derived::write_batch(self, stream, messages, expected_version)
    }

    /// Writes one message.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, Message, MessageStore, StreamName};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// let account = StreamName::new("account-123")?;
    /// let opened = Message::builder("Opened").build()?;
    /// let written = store.write_message(&account, opened, ExpectedVersion::NoStream).await?;
    ///
    /// // Succeeds only if no other message was written in between.
    /// let closed = Message::builder("Closed").build()?;
    /// let expected = ExpectedVersion::Exact(written.position);
    /// store.write_message(&account, closed, expected).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] as for [`Limits::check_message`](crate::Limits::check_message); otherwise
    /// the errors of [`MessageStore::write_streams`].
    ///
    /// # Dropped futures
    /// The message may be in the store, now or a moment later, or not. To learn which, write it again
    /// with the same id ([`Message::with_id`]): the store returns its position, or writes it now. A
    /// message without an id of yours would be stored a second time, unless the expected version
    /// prevents it.
    fn write_message(
        &self,
        stream: &StreamName,
        message: Message,
        expected_version: ExpectedVersion,
    ) -> impl Future<Output = Result<Written, Error>> + Send {
        derived::write_message(self, stream, message, expected_version)
    }

    /// Stores messages recorded by another store. Ids, positions, global positions and times are
    /// kept. Skips a message that is already stored at the same positions with the same content.
    /// Stores the others in one commit and returns their number.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Category, CategoryRead, Error, ExpectedVersion};
    /// # use message_store::{Message, MessageStore, StreamName};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// let source = SqliteStore::open(Config::memory()).await?;
    /// // … messages are written to `source` …
    /// # let account = StreamName::new("account-123")?;
    /// # let opened = Message::builder("Opened").build()?;
    /// # source.write_message(&account, opened, ExpectedVersion::Any).await?;
    /// let messages = source.get_category_messages(&Category::all(), CategoryRead::new()).await?;
    /// assert_eq!(store.import_messages(messages.clone()).await?, 1);
    ///
    /// // A second import skips the stored messages.
    /// assert_eq!(store.import_messages(messages).await?, 0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Nothing was stored if one of these holds:
    /// - [`Error::ImportConflict`] for the first message that does not fit: its global position is
    ///   not after the head and the previous message; its position does not follow the last one of
    ///   its stream (a new stream may start anywhere); its id is already used; or no 63-bit number
    ///   follows its position or global position.
    /// - [`Error::Invalid`] with field `messages[i].data` or `messages[i].metadata` for JSON that
    ///   the backend can't store.
    ///
    /// [`Error::OutcomeUnknown`] if the commit failed partway: import again. [`Error::Fault`] from the
    /// database.
    fn import_messages(
        &self,
        messages: Vec<RecordedMessage>,
    ) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Reads messages of one stream, in order. For a stream that does not exist, the result is
    /// empty.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, Message};
    /// # use message_store::{MessageStore, StreamName, StreamRead};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// let account = StreamName::new("account-123")?;
    /// # let opened = Message::builder("Opened").build()?;
    /// # store.write_message(&account, opened, ExpectedVersion::Any).await?;
    /// let messages = store.get_stream_messages(&account, StreamRead::new()).await?;
    /// assert_eq!(messages[0].message_type(), "Opened");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::PastReplaced`] or [`Error::AfterBeyondHead`] if the read goes on after a message that is
    /// not in the store; [`Error::Fault`] from the database.
    fn get_stream_messages(
        &self,
        stream: &StreamName,
        read: StreamRead,
    ) -> impl Future<Output = Result<Vec<RecordedMessage>, Error>> + Send;

    /// Reads messages of a category, or all messages, ordered by global position.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Category, CategoryRead, Error, ExpectedVersion};
    /// # use message_store::{Message, MessageStore, StreamName};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// # let order = StreamName::new("order-7")?;
    /// # let placed = Message::builder("Placed").build()?;
    /// # store.write_message(&order, placed, ExpectedVersion::Any).await?;
    /// let orders = Category::new("order")?;
    /// let page = store.get_category_messages(&orders, CategoryRead::new().batch_size(100)).await?;
    /// if let Some(last) = page.last() {
    ///     let next = CategoryRead::new().start(last.bookmark());
    ///     assert!(store.get_category_messages(&orders, next).await?.is_empty());
    /// }
    /// # assert_eq!(page.len(), 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::PastReplaced`] or [`Error::AfterBeyondHead`] if the read goes on after a message that is
    /// not in the store. A message that was deleted on purpose, by retention or with SQL, counts as one
    /// that is there. [`Error::Fault`] from the database.
    fn get_category_messages(
        &self,
        category: &Category,
        read: CategoryRead,
    ) -> impl Future<Output = Result<Vec<RecordedMessage>, Error>> + Send;

    /// Reads the last message of a stream, or its last message of one type.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, Message, MessageStore, Position, StreamName};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// let account = StreamName::new("account-123")?;
    /// # for message_type in ["Opened", "Deposited"] {
    /// #     let message = Message::builder(message_type).build()?;
    /// #     store.write_message(&account, message, ExpectedVersion::Any).await?;
    /// # }
    /// let opened = store.get_last_stream_message(&account, Some("Opened")).await?;
    /// assert_eq!(opened.map(|message| message.position()), Some(Position::START));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    fn get_last_stream_message(
        &self,
        stream: &StreamName,
        message_type: Option<&str>,
    ) -> impl Future<Output = Result<Option<RecordedMessage>, Error>> + Send {
        derived::last_message(self, stream, message_type)
    }

    /// The position of the last message of a stream, `None` if the stream has no messages.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, Message, MessageStore, StreamName};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// let account = StreamName::new("account-123")?;
    /// let version = store.stream_version(&account).await?;
    /// // … decide …
    /// let opened = Message::builder("Opened").build()?;
    /// store.write_message(&account, opened, ExpectedVersion::from_version(version)).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    fn stream_version(
        &self,
        stream: &StreamName,
    ) -> impl Future<Output = Result<Option<Position>, Error>> + Send {
        async move {
            let last = self.get_last_stream_message(stream, None).await?;
            Ok(last.map(|last| last.position()))
        }
    }

    /// The last message that readers can see: its global position and its id. `None` for an empty store.
    ///
    /// Reads and subscriptions that begin after it see only what is written from now on:
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Category, Error, ExpectedVersion, Message, MessageStore, StreamName};
    /// # use message_store::SubscribeOptions;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// # let account = StreamName::new("account-123")?;
    /// # let message = |message_type: &str| Message::builder(message_type).build();
    /// assert_eq!(store.head().await?, None);
    /// store.write_message(&account, message("Opened")?, ExpectedVersion::Any).await?;
    ///
    /// let (accounts, options) = (Category::of(&account), SubscribeOptions::new());
    /// let mut new = store.subscribe_to_category(accounts, store.head().await?, options);
    /// let written = store.write_message(&account, message("Closed")?, ExpectedVersion::Any).await?;
    /// assert_eq!(new.next().await?.global_position(), written.global_position);
    ///
    /// let position = store.head().await?.map(|head| head.position);
    /// assert_eq!(position, Some(written.global_position));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    fn head(&self) -> impl Future<Output = Result<Option<Bookmark>, Error>> + Send;

    /// Lists a page of streams.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, ListStreams};
    /// # use message_store::{Message, MessageStore, StreamName};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// # let order = StreamName::new("order-7")?;
    /// # let placed = Message::builder("Placed").build()?;
    /// # store.write_message(&order, placed, ExpectedVersion::Any).await?;
    /// let orders = store.list_streams(ListStreams::new().prefix("order-").limit(20)).await?;
    /// assert_eq!(orders[0].stream_name, "order-7");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    fn list_streams(
        &self,
        list: ListStreams,
    ) -> impl Future<Output = Result<Vec<StreamInfo>, Error>> + Send {
        derived::list_streams(self, list)
    }

    /// Lists all categories, ordered by the bytes of their names. Reads the whole store.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, Message, MessageStore, StreamName};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// # let order = StreamName::new("order-7")?;
    /// # let placed = Message::builder("Placed").build()?;
    /// # store.write_message(&order, placed, ExpectedVersion::Any).await?;
    /// let categories = store.list_categories().await?;
    /// assert_eq!(categories[0].category, "order");
    /// assert_eq!(categories[0].message_count, 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    fn list_categories(&self) -> impl Future<Output = Result<Vec<CategoryInfo>, Error>> + Send {
        derived::list_categories(self)
    }

    /// Counts streams and messages. Reads the whole store.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, Message, MessageStore, StreamName};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// # let order = StreamName::new("order-7")?;
    /// # let placed = Message::builder("Placed").build()?;
    /// # store.write_message(&order, placed, ExpectedVersion::Any).await?;
    /// let info = store.info().await?;
    /// assert_eq!((info.stream_count, info.message_count), (1, 1));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    fn info(&self) -> impl Future<Output = Result<StoreInfo, Error>> + Send {
        derived::info(self)
    }

    /// Deletes the messages of a stream before a position, exclusive, and returns their number. The
    /// last message of a stream is always kept, because it holds the stream's version. A deletion of
    /// many messages runs in several transactions, from the first message on.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, Message, MessageStore, Position, StreamName};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// let account = StreamName::new("account-123")?;
    /// # let messages = vec![Message::builder("Deposited").build()?; 3];
    /// store.write_batch(&account, messages, ExpectedVersion::NoStream).await?;
    /// assert_eq!(store.truncate_stream(&account, Position::new(2)).await?, 2);
    /// assert_eq!(store.stream_version(&account).await?, Some(Position::new(2)));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the database. Of many messages, some may have been deleted.
    /// [`Error::OutcomeUnknown`] if a commit failed partway.
    fn truncate_stream(
        &self,
        stream: &StreamName,
        before: Position,
    ) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Deletes the messages of a category, or of the whole store, that were written before a time.
    /// Returns the number of deleted messages.
    ///
    /// In each stream, deletion stops at the first message that is not older than `before`, so the
    /// rest of the stream has no gap even if the clock was set back. The last message of a stream
    /// is always kept. The deletion is not atomic: it runs in several transactions, so that writers
    /// can write between them.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Category, Error, ExpectedVersion, Message, MessageStore, StreamName};
    /// # use std::time::{Duration, SystemTime};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// # let account = StreamName::new("account-123")?;
    /// # let messages = vec![Message::builder("Deposited").build()?; 3];
    /// # store.write_batch(&account, messages, ExpectedVersion::NoStream).await?;
    /// let accounts = Category::new("account")?;
    /// let month = Duration::from_secs(30 * 24 * 60 * 60);
    /// let deleted = store.expire_messages(&accounts, SystemTime::now() - month).await?;
    /// assert_eq!(deleted, 0, "all messages are newer");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutcomeUnknown`], or [`Error::Fault`] from the database. Some messages may have been
    /// deleted.
    fn expire_messages(
        &self,
        category: &Category,
        before: SystemTime,
    ) -> impl Future<Output = Result<u64, Error>> + Send {
        derived::expire_messages(self, category, before)
    }

    /// The checkpoint that a consumer saved last, `None` if it saved none.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Category, CategoryRead, Error, MessageStore};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// let saved = store.checkpoint("invoices").await?;
    /// let page = store
    ///     .get_category_messages(&Category::new("order")?, CategoryRead::new().start(saved))
    ///     .await?;
    /// # assert!(page.is_empty());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `consumer` if the name is empty, contains a NUL or is longer than
    /// [`StreamName::MAX_BYTES`]. [`Error::Fault`] from the database.
    fn checkpoint(
        &self,
        consumer: &str,
    ) -> impl Future<Output = Result<Option<Bookmark>, Error>> + Send {
        async move {
            Limits::check_consumer(consumer)?;
            let mut saved = self.all_checkpoints().await?.into_iter();
            let saved = saved.find(|saved| saved.consumer == consumer);
            Ok(saved.map(|saved| saved.handled))
        }
    }

    /// The checkpoints of all consumers, ordered by the bytes of their names.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, GlobalPosition, MessageStore};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// store.save_checkpoint("invoices", GlobalPosition::new(42)).await?;
    /// for saved in store.all_checkpoints().await? {
    ///     println!("{} has handled {}", saved.consumer, saved.handled);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    fn all_checkpoints(&self) -> impl Future<Output = Result<Vec<Checkpoint>, Error>> + Send;

    /// Saves the bookmark, or the global position alone, of the last message that a consumer has handled.
    /// Returns the saved checkpoint. A saved position never decreases, so a late call with a smaller
    /// position changes nothing. The call does not look for the message; the consumer's next read does.
    ///
    /// A checkpoint without an id, as earlier versions saved it, gets one when the consumer saves its
    /// next message.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, GlobalPosition, Message, MessageStore, StreamName};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// # let order = StreamName::new("order-7")?;
    /// # let placed = Message::builder("Placed").build()?;
    /// # store.write_message(&order, placed, ExpectedVersion::Any).await?;
    /// let message = store.get_last_stream_message(&order, None).await?.unwrap();
    /// let saved = store.save_checkpoint("invoices", message.bookmark()).await?;
    /// assert_eq!(saved, message.bookmark());
    ///
    /// // A late call does not move the checkpoint back.
    /// let late = GlobalPosition::new(0);
    /// assert_eq!(store.save_checkpoint("invoices", late).await?, saved);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `consumer` if the name is invalid, as for
    /// [`MessageStore::checkpoint`]; [`Error::OutcomeUnknown`]; [`Error::Fault`] from the database.
    fn save_checkpoint(
        &self,
        consumer: &str,
        handled: impl Into<Bookmark> + Send,
    ) -> impl Future<Output = Result<Bookmark, Error>> + Send;

    /// Deletes a consumer's checkpoint, so that the consumer starts over, or saves an earlier one.
    /// Returns whether there was one.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, GlobalPosition, MessageStore};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// store.save_checkpoint("invoices", GlobalPosition::new(42)).await?;
    /// assert!(store.delete_checkpoint("invoices").await?);
    /// assert_eq!(store.checkpoint("invoices").await?, None);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `consumer` if the name is invalid, as for
    /// [`MessageStore::checkpoint`]; [`Error::OutcomeUnknown`]; [`Error::Fault`] from the database.
    fn delete_checkpoint(&self, consumer: &str)
    -> impl Future<Output = Result<bool, Error>> + Send;

    /// The end of the store, if no write is under way. Readers that wait compare it instead of reading,
    /// once for all of them. `None` while a write is under way, and for a store that can't tell, as by
    /// default: then each reader reads.
    ///
    /// # Errors
    /// As for [`MessageStore::head`].
    fn settled(&self) -> impl Future<Output = Result<Option<Settled>, Error>> + Send {
        async { Ok(None) }
    }

    /// Subscribes to hints that messages may have been written, so that a reader need not poll
    /// often. By default there is a hint every 100 ms.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, Message, MessageStore, StreamName};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// # let order = StreamName::new("order-7")?;
    /// # let placed = Message::builder("Placed").build()?;
    /// let mut notifications = store.notifications();
    /// store.write_message(&order, placed, ExpectedVersion::Any).await?;
    /// notifications.changed().await;
    /// # Ok(()) }
    /// ```
    fn notifications(&self) -> Notifications {
        Notifications::polling()
    }

    /// The store for a follower, such as a [`Subscription`] or a [`MessageRunner`](crate::MessageRunner).
    /// On PostgreSQL followers read in turns: a write wakes all of them, and other reads shall not wait
    /// behind them. The default is the store itself; one that wraps another store wraps what that one
    /// returns.
    #[must_use]
    fn for_follower(self) -> Self
    where
        Self: Sized,
    {
        self
    }

    /// Subscribes to the messages of a stream from a position on, inclusive: first those that are
    /// stored, then new ones as they are written. A position alone can't tell whether the past was
    /// replaced before the first message; [`StreamRead::after`] and [`StreamRead::handled`] can. The
    /// batch size is that of the options.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, Message, MessageStore, Position, StreamName};
    /// # use message_store::SubscribeOptions;
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// let order = StreamName::new("order-7")?;
    /// # let placed = Message::builder("Placed").build()?;
    /// # store.write_message(&order, placed, ExpectedVersion::Any).await?;
    /// let options = SubscribeOptions::new();
    /// let mut messages = store.subscribe_to_stream(order, Position::START, options);
    /// assert_eq!(messages.next().await?.message_type(), "Placed");
    /// # Ok(()) }
    /// ```
    fn subscribe_to_stream(
        &self,
        stream: StreamName,
        from: impl Into<StreamRead>,
        options: SubscribeOptions,
    ) -> Subscription<Self>
    where
        Self: Clone + Sized,
    {
        Subscription::new(self.clone(), Source::Stream(from.into(), stream), options)
    }

    /// Subscribes to the messages of a category, or to all messages: after a bookmark, such as a
    /// checkpoint, or from a global position on, inclusive.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Category, Error, ExpectedVersion, Message};
    /// # use message_store::{MessageStore, StreamName, SubscribeOptions};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// # let order = StreamName::new("order-7")?;
    /// # let placed = Message::builder("Placed").build()?;
    /// # store.write_message(&order, placed, ExpectedVersion::Any).await?;
    /// let saved = store.checkpoint("invoices").await?;
    /// let orders = Category::new("order")?;
    /// let mut orders = store.subscribe_to_category(orders, saved, SubscribeOptions::new());
    /// let message = orders.next().await?;
    /// // … handle the message …
    /// store.save_checkpoint("invoices", message.bookmark()).await?;
    /// # Ok(()) }
    /// ```
    fn subscribe_to_category(
        &self,
        category: Category,
        from: impl Into<Start>,
        options: SubscribeOptions,
    ) -> Subscription<Self>
    where
        Self: Clone + Sized,
    {
        let source = Source::Category(from.into(), category, None);
        Subscription::new(self.clone(), source, options)
    }

    /// Subscribes one member of a consumer group to its streams of a category: after a bookmark, such as
    /// a checkpoint, or from a global position on, inclusive.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Category, ConsumerGroup, Error, ExpectedVersion, GlobalPosition};
    /// # use message_store::{Message, MessageStore, StreamName, SubscribeOptions};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// # let order = StreamName::new("order-7")?;
    /// # let placed = Message::builder("Placed").build()?;
    /// # store.write_message(&order, placed, ExpectedVersion::Any).await?;
    /// let orders = Category::new("order")?;
    /// let (first_of_two, options) = (ConsumerGroup::new(0, 2)?, SubscribeOptions::new());
    /// let mut mine =
    ///     store.subscribe_to_group(orders, first_of_two, GlobalPosition::START, options);
    /// while let Some(message) = mine.try_next().await? {
    ///     assert!(first_of_two.includes(message.stream_name()));
    /// }
    /// # Ok(()) }
    /// ```
    fn subscribe_to_group(
        &self,
        category: Category,
        group: ConsumerGroup,
        from: impl Into<Start>,
        options: SubscribeOptions,
    ) -> Subscription<Self>
    where
        Self: Clone + Sized,
    {
        let source = Source::Category(from.into(), category, Some(group));
        Subscription::new(self.clone(), source, options)
    }

    /// The handles that record the subscriptions of this store. By default they record nothing.
    ///
    /// ```
    /// # use message_store::{Error, MessageStore, Metrics};
    /// # struct OrderStore<S> { messages: S }
    /// impl<S: MessageStore> OrderStore<S> {
    ///     // The body of `metrics` in `impl MessageStore for OrderStore`, which wraps another store.
    ///     fn metrics(&self) -> Metrics {
    ///         self.messages.metrics()
    ///     }
    /// }
    /// ```
    fn metrics(&self) -> Metrics {
        Metrics::default()
    }

    /// Checks that the database answers. By default reads the head, and names the type of the store as
    /// its backend.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, MessageStore};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// let health = store.health().await?;
    /// assert_eq!(health.backend, "SQLite");
    /// assert!(!health.is_durable, "a store in memory");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    fn health(&self) -> impl Future<Output = Result<Health, Error>> + Send {
        async move {
            self.head().await?;
            let name = std::any::type_name::<Self>();
            Ok(Health::new(name, "", Vec::new(), false))
        }
    }

    /// The store's counters since it was opened.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, ExpectedVersion, Message, MessageStore, StreamName};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// # let order = StreamName::new("order-7")?;
    /// # let placed = Message::builder("Placed").build()?;
    /// store.write_message(&order, placed, ExpectedVersion::Any).await?;
    /// assert_eq!(store.stats().messages_written, 1);
    /// # Ok(()) }
    /// ```
    fn stats(&self) -> Stats {
        Stats::default()
    }

    /// Closes the store: queued writes finish, new calls fail with [`Fault::Closed`](crate::Fault), and
    /// the connections are closed. May be called repeatedly and through any clone.
    ///
    /// ```
    /// # use message_store::sqlite::{Config, SqliteStore};
    /// # use message_store::{Error, Fault, MessageStore};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = SqliteStore::open(Config::memory()).await?;
    /// store.close().await;
    /// assert!(matches!(store.head().await, Err(Error::Fault(Fault::Closed))));
    /// # Ok(()) }
    /// ```
    fn close(&self) -> impl Future<Output = ()> + Send;
}

impl<S: MessageStore> MessageStore for Arc<S> {
    // `**`, because a call on the `Arc` would call itself.
    forward_message_store!(self { store => (**store), });
}
