use std::sync::{Arc, Mutex};
use std::time::Duration;

use message_store::sqlite::{Config, SqliteStore};
use message_store::{ExpectedVersion, MessageStore, RecordedMessage, RunOptions};

use crate::support::{message, stream_name};

pub(crate) async fn in_memory() -> ((), SqliteStore) {
    let store = SqliteStore::open(Config::memory()).await;
    ((), store.expect("a store in memory"))
}

/// The messages that handlers got, as the numbers in their data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<u64>>>);

impl Seen {
    pub(crate) fn note(&self, message: &RecordedMessage) -> u64 {
        let number = message.data().expect("a number");
        self.0.lock().unwrap().push(number);
        number
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// Options whose pauses cost a test no time.
pub(crate) fn quick() -> RunOptions {
    let millisecond = Duration::from_millis(1);
    let options = RunOptions::new().pauses(millisecond, millisecond);
    options.poll_interval(Duration::from_millis(20))
}

/// Writes the numbers to streams `a-0` to `a-9`.
pub(crate) async fn write_numbers(store: &impl MessageStore, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let stream = stream_name(&format!("a-{}", number % 10));
        let written = store.write_message(&stream, message(number), ExpectedVersion::Any);
        written.await.expect("the message is written");
    }
}
