//! Helpers of all tests. Helpers for one backend are in the backend's module.

pub(crate) mod place;
pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::time::Duration;

use message_store::{
    Category, CategoryRead, ExpectedVersion, Limits, Message, MessageStore, RecordedMessage,
    StreamName, StreamRead,
};
use tokio::time::{Instant, sleep};

/// How long a test waits for an event before it fails.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// Size limits that refuse nothing.
pub(crate) const UNLIMITED: Limits = Limits {
    max_messages_per_write: usize::MAX,
    max_message_bytes: usize::MAX,
    max_write_bytes: usize::MAX,
};

pub(crate) fn stream_name(name: &str) -> StreamName {
    StreamName::new(name).expect("the name is valid")
}

pub(crate) fn category(name: &str) -> Category {
    Category::new(name).expect("the name is valid")
}

/// A message whose data is this number.
pub(crate) fn message(number: u64) -> Message {
    let message = Message::builder("Happened").data(&number).build();
    message.expect("the message is valid")
}

/// Messages with the data 0, 1, 2 and so on.
pub(crate) fn messages(count: u64) -> Vec<Message> {
    (0..count).map(message).collect()
}

/// Writes one message, expecting any version.
pub(crate) async fn write(store: &impl MessageStore, name: &str, number: u64) {
    let name = stream_name(name);
    let written = store.write_message(&name, message(number), ExpectedVersion::Any);
    written.await.expect("the message is written");
}

pub(crate) async fn whole_stream(store: &impl MessageStore, name: &str) -> Vec<RecordedMessage> {
    let read = StreamRead::new().batch_size(None);
    let messages = store.get_stream_messages(&stream_name(name), read).await;
    messages.expect("the stream can be read")
}

/// All messages of a category, or of the store if the name is empty.
pub(crate) async fn whole_category(store: &impl MessageStore, name: &str) -> Vec<RecordedMessage> {
    let read = CategoryRead::new().batch_size(None);
    let messages = store.get_category_messages(&category(name), read).await;
    messages.expect("the category can be read")
}

/// Waits until `done` returns true.
pub(crate) async fn wait_until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let give_up = Instant::now() + WAIT_LIMIT;
    while !done().await {
        assert!(Instant::now() < give_up, "gave up waiting until {what}");
        sleep(Duration::from_millis(2)).await;
    }
}
