//! Helpers of the tests of the PostgreSQL store.

pub(crate) mod sql;

use local_postgres::{Database, Durability, LocalPostgres, Options, Source};
use message_store::postgres::{Config, PostgresStore};

pub(crate) use super::{
    category, message, stream_name, wait_until, whole_category, whole_stream, write,
};

/// Makes a schema of the newest version one of version 2.
pub(crate) const TO_VERSION_2: &str = "\
    DROP TRIGGER record_deletion ON message_store.messages; \
    DROP FUNCTION message_store.record_deletion, message_store.last_deleted, \
                  message_store.head_bookmark; \
    DROP TABLE message_store.deletion; \
    ALTER TABLE message_store.checkpoint DROP COLUMN bookmark; \
    DELETE FROM message_store.migration WHERE version > 2";

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

/// The URL with another user, who needs no password.
pub(crate) fn url_as(url: &str, user: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("a scheme");
    let (_, host) = rest.split_once('@').expect("a user");
    format!("{scheme}://{user}@{host}")
}

/// Creates a login that may run a store with the default schema, and create nothing. Returns its
/// name. The grants are those of the README.
pub(crate) async fn create_run_time_login(database: &Database) -> String {
    let app = format!("app_{}", database.name());
    let mut sql = sql::Sql::connect(database.url()).await;
    sql.run(&format!("CREATE ROLE {app} LOGIN")).await;
    sql.run(&readme_grants(database, &app, 0)).await;
    app
}

/// The statements of the README's first or second block of grants, for this login.
pub(crate) fn readme_grants(database: &Database, app: &str, block: usize) -> String {
    let mut blocks = include_str!("../../../../README.md")
        .split("```sql\n")
        .skip(1);
    let block = blocks.nth(block).and_then(|rest| rest.split("```").next());
    block
        .expect("the README has the grants")
        .replace(" app;", &format!(" {app};"))
        .replace(
            "DATABASE messages",
            &format!("DATABASE {}", database.name()),
        )
}
