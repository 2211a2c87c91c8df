//! Helpers for the test cases.

use message_store::{
    Category, CategoryRead, ExpectedVersion, GlobalPosition, Message, MessageStore, Position,
    RecordedMessage, StreamName, StreamRead, Written,
};

pub(super) const ANY: ExpectedVersion = ExpectedVersion::Any;
pub(super) const NO_STREAM: ExpectedVersion = ExpectedVersion::NoStream;

pub(super) fn exactly(position: u64) -> ExpectedVersion {
    ExpectedVersion::Exact(position_at(position))
}

pub(super) fn position_at(position: u64) -> Position {
    Position::new(position)
}

pub(super) fn global(position: u64) -> GlobalPosition {
    GlobalPosition::new(position)
}

pub(super) fn name(name: &str) -> StreamName {
    StreamName::new(name).expect("the name is valid")
}

pub(super) fn category(name: &str) -> Category {
    Category::new(name).expect("the category is valid")
}

/// A message whose data is this number.
pub(super) fn message(number: u64) -> Message {
    let builder = Message::builder("Happened").data(&number);
    builder.build().expect("the message is valid")
}

/// `count` messages, numbered from 0.
pub(super) fn messages(count: u64) -> Vec<Message> {
    (0..count).map(message).collect()
}

/// A message with this metadata.
pub(super) fn with_metadata(metadata: &str) -> Message {
    let builder = Message::builder("Happened").metadata_json(metadata);
    builder.build().expect("the message is valid")
}

/// Writes a message, expecting any version.
pub(super) async fn write(store: &impl MessageStore, stream: &str, message: Message) -> Written {
    let written = store.write_message(&name(stream), message, ANY).await;
    written.expect("the message is written")
}

/// Writes `count` numbered messages.
pub(super) async fn fill(store: &impl MessageStore, stream: &str, count: u64) -> Vec<Written> {
    let written = store.write_batch(&name(stream), messages(count), ANY).await;
    written.expect("the messages are written")
}

/// The whole stream.
pub(super) async fn stream(store: &impl MessageStore, stream: &str) -> Vec<RecordedMessage> {
    let read = StreamRead::new().batch_size(None);
    let messages = store.get_stream_messages(&name(stream), read).await;
    messages.expect("the stream can be read")
}

/// The messages of a category.
pub(super) async fn read(
    store: &impl MessageStore,
    name: &str,
    read: CategoryRead,
) -> Vec<RecordedMessage> {
    let messages = store.get_category_messages(&category(name), read).await;
    messages.expect("the category can be read")
}

/// All messages of the store.
pub(super) async fn all(store: &impl MessageStore) -> Vec<RecordedMessage> {
    read(store, "", CategoryRead::new().batch_size(None)).await
}

/// The data of the messages, as numbers.
pub(super) fn numbers(messages: &[RecordedMessage]) -> Vec<u64> {
    let number = |message: &RecordedMessage| message.data().expect("the data is a number");
    messages.iter().map(number).collect()
}

/// The stream positions of the messages, as numbers.
pub(super) fn positions(messages: &[RecordedMessage]) -> Vec<u64> {
    messages
        .iter()
        .map(|message| message.position().get())
        .collect()
}

/// The names of the streams.
pub(super) fn names(messages: &[RecordedMessage]) -> Vec<&str> {
    messages.iter().map(RecordedMessage::stream_name).collect()
}
