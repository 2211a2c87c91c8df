//! Helpers of the tests of the PostgreSQL store.

pub(crate) mod sql;

use local_postgres::{Database, Durability, LocalPostgres, Options, Source};
use message_store::postgres::{Config, PostgresStore};

pub(crate) use super::{
    category, effort, message, stream_name, wait_until, whole_category, whole_stream, write,
};

/// The server that the tests of this process share. It does not sync to disk.
pub(crate) async fn server() -> &'static LocalPostgres {
    local_postgres::shared_with(Durability::Relaxed)
        .await
        .expect("a PostgreSQL")
}

/// A separate server, which the test may kill or copy.
pub(crate) async fn separate_server(mut options: Options) -> LocalPostgres {
    options.source = Some(Source::Installed);
    if let Ok(server) = LocalPostgres::start(options.clone()).await {
        return server;
    }
    options.source = Some(Source::Download);
    LocalPostgres::start(options).await.expect("a PostgreSQL")
}

/// A new database.
pub(crate) async fn fresh_database() -> Database {
    let database = server().await.create_database("messages").await;
    database.expect("a database")
}

/// A store in a new database.
pub(crate) async fn fresh_store() -> (Database, PostgresStore) {
    let database = fresh_database().await;
    let store = connect(Config::new(database.url())).await;
    (database, store)
}

pub(crate) async fn connect(config: Config) -> PostgresStore {
    PostgresStore::connect(config).await.expect("a connection")
}
