//! `message-store` as a store of the suite.

use std::time::Duration;

use message_store::postgres::{Config, PostgresStore};
use message_store::{
    Category, CategoryRead, Error, ExpectedVersion, GlobalPosition, Message, MessageStore as _,
    Position, StreamName, StreamRead, SubscribeOptions, Subscription,
};
use postgres_store::ServerConfig;
use store_fault::{Health, Listener};
use uuid::Uuid;

use crate::place::NEVER;
use crate::store::{Answer, Call, Failed, Store};

#[derive(Clone)]
pub(crate) struct Messages(PostgresStore);

const ANY: ExpectedVersion = ExpectedVersion::Any;

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::new(&error, error.is_transient())
    }
}

fn stream(name: &str) -> StreamName {
    StreamName::new(name).expect("the name is valid")
}

fn category() -> Category {
    Category::of(&stream("a-1"))
}

fn message() -> Message {
    let message = Message::builder("Happened").build();
    message.expect("the message is valid")
}

/// A call of a clone of the store.
macro_rules! call {
    ($this:ident, $name:literal, $store:ident => $call:expr) => {{
        let $store = $this.0.clone();
        Call::new($name, async move { $call.await })
    }};
}

impl Store for Messages {
    type Subscription = Subscription<PostgresStore>;

    const APPLICATION: &'static str = "message-store";
    const TABLE: &'static str = "message_store.messages";
    const READS_IN_A_STATEMENT: usize = 1;

    fn config(url: &str) -> ServerConfig {
        Config::new(url).server
    }

    async fn connect(server: ServerConfig) -> Answer<Self> {
        let mut config = Config::new("");
        config.server = server;
        let store = PostgresStore::connect(config).await;
        store.map(Self).map_err(Failed::from)
    }

    async fn write_as(&self, id: Uuid) -> Answer<()> {
        let message = message().with_id(id);
        let written = self.0.write_message(&stream("a-1"), message, ANY).await;
        written.map(drop).map_err(Failed::from)
    }

    async fn write_and_wait(&self) -> Answer<()> {
        let written = self.0.write_message(&stream("a-1"), message(), ANY).await;
        let position = written?.global_position;
        self.0.wait_for(position).await.map_err(Failed::from)
    }

    async fn ids(&self) -> Answer<Vec<Uuid>> {
        // Not those of the store, which the primary reads.
        let all = StreamRead::new().batch_size(None);
        let messages = self.0.get_stream_messages(&stream("a-1"), all).await;
        let messages = messages?;
        Ok(messages.iter().map(|message| message.id()).collect())
    }

    async fn head(&self) -> Answer<()> {
        self.0.head().await.map(drop).map_err(Failed::from)
    }

    fn reads(&self) -> Vec<Call> {
        let (of_stream, of_category) = (StreamRead::new(), CategoryRead::new());
        let (name, last) = (stream("a-1"), stream("a-1"));
        vec![
            call!(self, "head", store => store.head()),
            call!(self, "stream", store => store.get_stream_messages(&name, of_stream)),
            call!(self, "category", store => store.get_category_messages(&category(), of_category)
            ),
            call!(self, "last", store => store.get_last_stream_message(&last, None)),
            call!(self, "stream_version", store => store.stream_version(&stream("a-1"))),
            call!(self, "info", store => store.info()),
            call!(self, "checkpoint", store => store.checkpoint("a")),
        ]
    }

    fn changes(&self) -> Vec<Call> {
        let (before, place) = (Position::new(1), GlobalPosition::new(1));
        vec![
            call!(self, "save_checkpoint", store => store.save_checkpoint("a", place)),
            call!(self, "delete_checkpoint", store => store.delete_checkpoint("a")),
            call!(self, "truncate_stream", store => store.truncate_stream(&stream("a-1"), before)
            ),
        ]
    }

    /// A consumer's place is kept.
    async fn verify(&self) {
        let place = GlobalPosition::new(1);
        self.0.save_checkpoint("c", place).await.unwrap();
        let saved = self.0.checkpoint("c").await.unwrap();
        assert_eq!(saved.map(|saved| saved.position), Some(place));
    }

    async fn health(&self) -> Answer<Health> {
        self.0.health().await.map_err(Failed::from)
    }

    fn listener(&self) -> Option<Listener> {
        self.0.stats().listener
    }

    fn lost_connections(&self) -> u64 {
        self.0.stats().lost_connections
    }

    fn reads_so_far(&self) -> u64 {
        self.0.stats().reads
    }

    fn replicas_in_use(&self) -> usize {
        self.0.replicas_in_use()
    }

    fn subscribe(&self, interval: Option<Duration>) -> Self::Subscription {
        let mut options = SubscribeOptions::new();
        if let Some(interval) = interval {
            options = options.poll_interval(interval);
        }
        let start = GlobalPosition::START;
        self.0.subscribe_to_category(category(), start, options)
    }

    fn follow_as(&self, _number: usize) -> Self::Subscription {
        self.subscribe(Some(NEVER))
    }

    async fn next(following: &mut Self::Subscription) -> Answer<Uuid> {
        let message = following.next().await;
        message.map(|message| message.id()).map_err(Failed::from)
    }

    async fn close(&self) {
        self.0.close().await;
    }
}
