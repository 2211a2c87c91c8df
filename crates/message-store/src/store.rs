use std::future::Future;
use std::sync::Arc;
use std::time::SystemTime;

use crate::{
    Category, CategoryInfo, CategoryRead, Error, ExpectedVersion, GlobalPosition, Health,
    ListStreams, Message, Notifications, Position, RecordedMessage, Stats, StoreInfo, StreamInfo,
    StreamName, StreamRead, StreamWrite, Written,
};

/// Streams of messages, read one by one or by category.
///
/// Positions of a stream are 0, 1, 2 … without gaps but before the first that is kept: retention takes
/// from the front, and an imported stream may begin anywhere. Global positions increase in the order
/// in which readers see the messages: whoever pages a category, or all messages, by global position
/// misses nothing that is committed later. `&self` everywhere: share a store by reference, clone
/// or `Arc`.
pub trait MessageStore: Send + Sync + 'static {
    /// Writes to several streams atomically: all the messages or none. Returns the positions in the
    /// order of the messages, a list for each stream.
    ///
    /// Writing the same ids with the same content again returns the first positions, whatever the
    /// expected version. Content is the stream, the type, and data and metadata compared as JSON
    /// values ([`same_json`](crate::same_json)).
    ///
    /// # Errors
    /// The first of these that holds, in every backend in this order; nothing was written:
    /// 1. [`Error::Invalid`] and, for an id twice in the write, [`Error::IdConflict`], as
    ///    [`Limits::check_streams`](crate::Limits::check_streams) says;
    /// 2. [`Error::IdConflict`] for an id in the store: where the store has only some of the
    ///    messages, the first that it has; where it has all, the first with other content. A
    ///    message without an id is one that the store does not have;
    /// 3. [`Error::WrongExpectedVersion`] of the first stream that is elsewhere.
    ///
    /// [`Error::OutcomeUnknown`]: write the same ids again. Others as the backend says.
    fn write_streams(
        &self,
        writes: Vec<StreamWrite>,
    ) -> impl Future<Output = Result<Vec<Vec<Written>>, Error>> + Send;

    /// Writes to one stream atomically.
    ///
    /// # Errors
    /// As [`MessageStore::write_streams`]; the limits as
    /// [`Limits::check_batch`](crate::Limits::check_batch) says.
    fn write_batch(
        &self,
        stream: &StreamName,
        messages: Vec<Message>,
        expected_version: ExpectedVersion,
    ) -> impl Future<Output = Result<Vec<Written>, Error>> + Send;

    /// Writes one message.
    ///
    /// # Errors
    /// As [`MessageStore::write_streams`]; the limits as
    /// [`Limits::check_message`](crate::Limits::check_message) says.
    fn write_message(
        &self,
        stream: &StreamName,
        message: Message,
        expected_version: ExpectedVersion,
    ) -> impl Future<Output = Result<Written, Error>> + Send;

    /// Stores messages as they were recorded elsewhere: ids, positions, global positions and times
    /// are kept. What is stored already, at the same place with the same content, is skipped.
    /// Returns how many were stored, all in one commit.
    ///
    /// # Errors
    /// [`Error::ImportConflict`] for the first message whose global position is not past the head
    /// or not past that of the message before it, whose position does not follow the last of its
    /// stream (a stream that is new to the store may begin anywhere), whose id is taken, or whose
    /// position or global position no other of 63 bits follows. [`Error::Invalid`] with field
    /// `messages[i].data` or `messages[i].metadata` where the backend can't store that JSON.
    fn import_messages(
        &self,
        messages: Vec<RecordedMessage>,
    ) -> impl Future<Output = Result<u64, Error>> + Send;

    /// The messages of one stream, in order. None of a stream that does not exist.
    ///
    /// # Errors
    /// What the backend met.
    fn get_stream_messages(
        &self,
        stream: &StreamName,
        read: StreamRead,
    ) -> impl Future<Output = Result<Vec<RecordedMessage>, Error>> + Send;

    /// The messages of a category, or all messages, by global position.
    ///
    /// # Errors
    /// What the backend met.
    fn get_category_messages(
        &self,
        category: &Category,
        read: CategoryRead,
    ) -> impl Future<Output = Result<Vec<RecordedMessage>, Error>> + Send;

    /// The last message of a stream, or the last of this type in it.
    ///
    /// # Errors
    /// What the backend met.
    fn get_last_stream_message(
        &self,
        stream: &StreamName,
        message_type: Option<&str>,
    ) -> impl Future<Output = Result<Option<RecordedMessage>, Error>> + Send;

    /// The position of the last message of a stream, `None` where there is no stream.
    ///
    /// # Errors
    /// What the backend met.
    fn stream_version(
        &self,
        stream: &StreamName,
    ) -> impl Future<Output = Result<Option<Position>, Error>> + Send;

    /// The last global position that readers see, `None` of an empty store.
    ///
    /// # Errors
    /// What the backend met.
    fn head(&self) -> impl Future<Output = Result<Option<GlobalPosition>, Error>> + Send;

    /// A page of the streams.
    ///
    /// # Errors
    /// What the backend met.
    fn list_streams(
        &self,
        list: ListStreams,
    ) -> impl Future<Output = Result<Vec<StreamInfo>, Error>> + Send;

    /// All categories, in the order of the bytes of their names. Reads the whole store.
    ///
    /// # Errors
    /// What the backend met.
    fn list_categories(&self) -> impl Future<Output = Result<Vec<CategoryInfo>, Error>> + Send;

    /// How much there is. Reads the whole store.
    ///
    /// # Errors
    /// What the backend met.
    fn info(&self) -> impl Future<Output = Result<StoreInfo, Error>> + Send;

    /// Deletes the messages of a stream before a position, and returns how many. The last message
    /// of a stream always stays: it is what the stream's version is known by.
    ///
    /// # Errors
    /// What the backend met; nothing was deleted.
    fn truncate_stream(
        &self,
        stream: &StreamName,
        before: Position,
    ) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Deletes what was written to a category, or to all, before a time, and returns how many.
    ///
    /// Of each stream the messages go that come before the first one as young as `before`; the last
    /// message always stays. So what is left of a stream has no gap, also where the clock was set
    /// back. Not atomic: it deletes in parts, so that writers need not wait.
    ///
    /// # Errors
    /// What the backend met; some messages may have been deleted.
    fn expire_messages(
        &self,
        category: &Category,
        before: SystemTime,
    ) -> impl Future<Output = Result<u64, Error>> + Send;

    /// The last position that a consumer saved, `None` where it saved none.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `consumer` where the name is empty, has a NUL or more than
    /// [`StreamName::MAX_BYTES`] bytes, or what the backend met.
    fn checkpoint(
        &self,
        consumer: &str,
    ) -> impl Future<Output = Result<Option<GlobalPosition>, Error>> + Send;

    /// Saves the position of the last message that a consumer has dealt with, and returns the one
    /// that is saved now: it only ever increases, so a late caller takes nothing back.
    ///
    /// # Errors
    /// As [`MessageStore::checkpoint`].
    fn save_checkpoint(
        &self,
        consumer: &str,
        position: GlobalPosition,
    ) -> impl Future<Output = Result<GlobalPosition, Error>> + Send;

    /// Forgets a consumer, so that it begins again. Returns whether there was one.
    ///
    /// # Errors
    /// As [`MessageStore::checkpoint`].
    fn delete_checkpoint(&self, consumer: &str)
    -> impl Future<Output = Result<bool, Error>> + Send;

    /// Hints that messages may have been written, for those who would rather not poll.
    fn notifications(&self) -> Notifications;

    /// Asks the database for an answer.
    ///
    /// # Errors
    /// [`Error::Unavailable`] or [`Error::Closed`] where it gives none.
    fn health(&self) -> impl Future<Output = Result<Health, Error>> + Send;

    /// What the store has done so far.
    fn stats(&self) -> Stats;

    /// Lets the writes that wait finish, refuses new calls with [`Error::Closed`], and closes the
    /// connections. May be called again, and through any clone.
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// Hands each call on to the store inside.
macro_rules! forward {
    ($(async $name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        $(async fn $name(&self, $($argument: $type),*) -> $output {
            S::$name(self, $($argument),*).await
        })*
    };
}

impl<S: MessageStore> MessageStore for Arc<S> {
    forward! {
        async write_streams(writes: Vec<StreamWrite>) -> Result<Vec<Vec<Written>>, Error>;
        async write_batch(stream: &StreamName, messages: Vec<Message>, expected_version: ExpectedVersion) -> Result<Vec<Written>, Error>;
        async write_message(stream: &StreamName, message: Message, expected_version: ExpectedVersion) -> Result<Written, Error>;
        async import_messages(messages: Vec<RecordedMessage>) -> Result<u64, Error>;
        async get_stream_messages(stream: &StreamName, read: StreamRead) -> Result<Vec<RecordedMessage>, Error>;
        async get_category_messages(category: &Category, read: CategoryRead) -> Result<Vec<RecordedMessage>, Error>;
        async get_last_stream_message(stream: &StreamName, message_type: Option<&str>) -> Result<Option<RecordedMessage>, Error>;
        async stream_version(stream: &StreamName) -> Result<Option<Position>, Error>;
        async head() -> Result<Option<GlobalPosition>, Error>;
        async list_streams(list: ListStreams) -> Result<Vec<StreamInfo>, Error>;
        async list_categories() -> Result<Vec<CategoryInfo>, Error>;
        async info() -> Result<StoreInfo, Error>;
        async truncate_stream(stream: &StreamName, before: Position) -> Result<u64, Error>;
        async expire_messages(category: &Category, before: SystemTime) -> Result<u64, Error>;
        async checkpoint(consumer: &str) -> Result<Option<GlobalPosition>, Error>;
        async save_checkpoint(consumer: &str, position: GlobalPosition) -> Result<GlobalPosition, Error>;
        async delete_checkpoint(consumer: &str) -> Result<bool, Error>;
        async health() -> Result<Health, Error>;
        async close() -> ();
    }

    fn notifications(&self) -> Notifications {
        S::notifications(self)
    }

    fn stats(&self) -> Stats {
        S::stats(self)
    }
}
