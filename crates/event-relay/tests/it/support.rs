//! The stores of a test, the relay between them, and what it must have written.

use std::time::{Duration, Instant};

use dcb_core::{
    Event, EventStore, HandlerError, ProjectionRunner, Query, ReadOptions, SequencedEvent,
};
use dcb_core::{MemoryStore, SubscribeOptions};
use event_relay::Relay;
use local_postgres::{Database, Durability};
use message_store::{Category, CategoryRead, Message, MessageStore, RecordedMessage, StreamName};
use tempfile::TempDir;

pub(crate) const TYPE: &str = "NumberDrawn";
/// The category of the relayed messages.
pub(crate) const CATEGORY: &str = "number";
pub(crate) const NAME: &str = "numbers";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Sqlite,
    Postgres,
}

/// The URLs of both stores, and what has to outlive them.
pub(crate) struct Places {
    pub(crate) events: String,
    pub(crate) messages: String,
    _folder: TempDir,
    _databases: Vec<Database>,
}

impl Places {
    pub(crate) async fn new(events: Backend, messages: Backend) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut databases = Vec::new();
        let mut places = Vec::new();
        for (backend, name) in [(events, "events"), (messages, "messages")] {
            places.push(match backend {
                Backend::Sqlite => folder
                    .path()
                    .join(format!("{name}.db"))
                    .display()
                    .to_string(),
                Backend::Postgres => {
                    let server = local_postgres::shared_with(Durability::Relaxed).await;
                    let server = server.expect("a PostgreSQL");
                    let database = server.create_database(name).await.expect("a database");
                    let url = database.url().to_owned();
                    databases.push(database);
                    url
                }
            });
        }
        let messages = places.pop().expect("the place of the messages");
        Self {
            events: places.pop().expect("the place of the events"),
            messages,
            _folder: folder,
            _databases: databases,
        }
    }

    pub(crate) async fn open(&self) -> (dcb_core::AnyStore, message_store::AnyStore) {
        open(&self.events, &self.messages).await
    }
}

pub(crate) async fn open(
    events: &str,
    messages: &str,
) -> (dcb_core::AnyStore, message_store::AnyStore) {
    let events = dcb_core::AnyStore::open(events).await;
    let messages = message_store::AnyStore::open(messages).await;
    (events.expect("the events"), messages.expect("the messages"))
}

/// Both stores in memory.
pub(crate) async fn in_memory() -> (MemoryStore, message_store::AnyStore) {
    let messages = message_store::AnyStore::open("memory:").await;
    (MemoryStore::new(), messages.expect("a store in memory"))
}

/// An event that is relayed to this stream of the category.
pub(crate) fn drawn(stream: u64) -> Event {
    let event = Event::builder(TYPE).tag_pair("stream", stream);
    event.build().expect("the event is valid")
}

/// An event that the relay does not ask for.
pub(crate) fn other() -> Event {
    Event::builder("Other").build().expect("the event is valid")
}

pub(crate) async fn append(store: &impl EventStore, events: Vec<Event>) {
    store.append(events).await.expect("the events are appended");
}

pub(crate) fn query() -> Query {
    let query = Query::builder().event_type(TYPE).build();
    query.expect("the query is valid")
}

/// The message of an event: its position.
pub(crate) fn message(event: &SequencedEvent) -> Result<(StreamName, Message), HandlerError> {
    let stream = event.tag_value("stream").ok_or("there is no stream")?;
    let message = Message::builder("Number").data(&event.position().get());
    Ok((
        StreamName::new(format!("{CATEGORY}-{stream}"))?,
        message.build()?,
    ))
}

/// A runner that relays three events in a commit.
pub(crate) fn runner<E, M>(events: &E, messages: &M) -> ProjectionRunner<E, Relay<M>>
where
    E: EventStore + Clone + 'static,
    M: MessageStore + Clone,
{
    let relay = Relay::new(messages.clone(), NAME, |event| message(event).map(Some));
    ProjectionRunner::new(events.clone(), query(), relay.expect("the name is valid"))
        .options(SubscribeOptions::new().batch_size(3))
}

pub(crate) async fn positions(events: &impl EventStore) -> Vec<u64> {
    let read = events.query(&query(), ReadOptions::new()).await;
    let events = read.expect("the events can be read").events;
    events.iter().map(|event| event.position().get()).collect()
}

pub(crate) async fn relayed(messages: &impl MessageStore) -> Vec<RecordedMessage> {
    let category = Category::new(CATEGORY).expect("the name is valid");
    let read = CategoryRead::new().batch_size(None);
    let messages = messages.get_category_messages(&category, read).await;
    messages.expect("the messages can be read")
}

pub(crate) fn numbers(messages: &[RecordedMessage]) -> Vec<u64> {
    let numbers = messages.iter().map(|message| message.data());
    numbers
        .collect::<Result<_, _>>()
        .expect("the data are numbers")
}

/// Each event is one message, and the messages have the order of the events.
pub(crate) async fn check(events: &impl EventStore, messages: &impl MessageStore) {
    assert_eq!(numbers(&relayed(messages).await), positions(events).await);
}

pub(crate) async fn wait_until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !done().await {
        let waited = begun.elapsed();
        assert!(
            waited < Duration::from_secs(60),
            "gave up waiting until {what}"
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
