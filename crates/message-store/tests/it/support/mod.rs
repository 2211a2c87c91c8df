//! Helpers of all tests; those of one backend are in its module.

pub(crate) mod postgres;
pub(crate) mod sqlite;

use std::time::Duration;

use message_store::{Category, Message, StreamName};
use tokio::time::{Instant, sleep};

/// How long a test waits for an event before it fails.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

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

/// Waits until `done` holds.
pub(crate) async fn wait_until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let give_up = Instant::now() + WAIT_LIMIT;
    while !done().await {
        assert!(Instant::now() < give_up, "gave up waiting until {what}");
        sleep(Duration::from_millis(2)).await;
    }
}

/// `usual` repetitions, scaled by `REGISTRAR_EFFORT` in percent if it is set.
pub(crate) fn effort(usual: usize) -> usize {
    let percent = std::env::var("REGISTRAR_EFFORT").ok();
    let percent = percent.and_then(|percent| percent.parse().ok());
    usual * percent.unwrap_or(100) / 100
}
