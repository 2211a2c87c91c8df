//! Stores in a real PostgreSQL, and the short words that the tests are written in.

pub(crate) mod sql;

use local_postgres::{Database, Durability, LocalPostgres, Options, Source};
use message_store::postgres::{Config, PostgresStore};
use message_store::{CategoryRead, ExpectedVersion, MessageStore, RecordedMessage, StreamRead};

pub(crate) use super::{category, effort, message, stream_name, wait_until};

/// This process's server for tests of correctness.
pub(crate) async fn server() -> &'static LocalPostgres {
    local_postgres::shared_with(Durability::Relaxed)
        .await
        .expect("a PostgreSQL")
}

/// A server that the test may kill.
pub(crate) async fn server_of_its_own() -> LocalPostgres {
    let mut options = Options {
        source: Some(Source::Installed),
        ..Options::default()
    };
    if let Ok(server) = LocalPostgres::start(options.clone()).await {
        return server;
    }
    options.source = Some(Source::Download);
    LocalPostgres::start(options).await.expect("a PostgreSQL")
}

/// An empty database of its own.
pub(crate) async fn fresh_database() -> Database {
    let database = server().await.create_database("messages").await;
    database.expect("a database")
}

/// A store in a database of its own.
pub(crate) async fn fresh_store() -> (Database, PostgresStore) {
    let database = fresh_database().await;
    let store = connect(Config::new(database.url())).await;
    (database, store)
}

pub(crate) async fn connect(config: Config) -> PostgresStore {
    PostgresStore::connect(config).await.expect("a connection")
}

/// Writes one message, wherever the stream is.
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

/// All messages of a category, or with an empty name of the store.
pub(crate) async fn whole_category(store: &impl MessageStore, name: &str) -> Vec<RecordedMessage> {
    let read = CategoryRead::new().batch_size(None);
    let messages = store.get_category_messages(&category(name), read).await;
    messages.expect("the category can be read")
}
