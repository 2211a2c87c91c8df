use std::sync::Arc;

use message_store::postgres::PostgresStore;
use message_store::{
    Category, CategoryRead, Error, ExpectedVersion, GlobalPosition, Message, MessageStore as _,
    RecordedMessage, StreamName, StreamWrite, Written, write_until_known,
};
use tokio::time::Instant;
use uuid::Uuid;

use super::ledger::{Ledger, SentMessages};
use super::{Shared, pause};
use crate::sql::PATIENCE;

/// Streams that several callers write to.
const COMMON: usize = 6;

/// Writes messages. Every second caller has a private stream, expects a version, and repeats a write
/// whose outcome it does not know. The others write to two common streams at once.
pub(super) async fn run(shared: Arc<Shared>, number: usize) -> Ledger {
    let mut ledger = Ledger::default();
    for round in 0.. {
        if !shared.goes_on() {
            break;
        }
        let (writes, answer) = match number % 2 {
            0 => write_private(&shared.messages, number).await,
            _ => write_common(&shared.messages, number + round).await,
        };
        let has_failed = answer.is_err();
        let sent = SentMessages {
            writes,
            answer,
            answered: Instant::now(),
        };
        ledger.note_messages(&shared, sent);
        pause(has_failed).await;
    }
    ledger
}

type Outcome = (Vec<StreamWrite>, Result<Vec<Vec<Written>>, Error>);

async fn write_private(store: &PostgresStore, number: usize) -> Outcome {
    let stream = stream(&format!("account-private{number}"));
    let version = match store.stream_version(&stream).await {
        Ok(version) => ExpectedVersion::from_version(version),
        Err(error) => return (Vec::new(), Err(error)),
    };
    let writes = vec![StreamWrite::new(stream, message()).expected_version(version)];
    let answer = write_until_known(store, writes.clone(), PATIENCE).await;
    (writes, answer)
}

async fn write_common(store: &PostgresStore, round: usize) -> Outcome {
    let streams = [round, round + 1].map(|number| format!("account-common{}", number % COMMON));
    let writes = streams.map(|name| StreamWrite::new(stream(&name), message()));
    let writes = Vec::from(writes);
    let answer = store.write_streams(writes.clone()).await;
    (writes, answer)
}

fn message() -> Message {
    let message = Message::builder("Deposited").id(Uuid::now_v7());
    message.data(&5).build().expect("the message is valid")
}

fn stream(name: &str) -> StreamName {
    StreamName::new(name).expect("the name is valid")
}

/// All messages of a store, in order.
pub(crate) async fn read_all(store: &PostgresStore) -> Vec<RecordedMessage> {
    let mut all: Vec<RecordedMessage> = Vec::new();
    loop {
        let next = all.last().map(|message| message.global_position().next());
        let read = CategoryRead::new().position(next.unwrap_or(GlobalPosition::START));
        let page = store.get_category_messages(&Category::all(), read).await;
        let page = page.expect("the store can be read");
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}
