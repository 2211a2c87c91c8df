//! Taking over a Message DB, with its messages and its clients.

mod changed;
mod clients;
mod cost;
mod refusals;

use local_postgres::Database;
use message_store::postgres::{Config, PostgresStore};

use crate::support::postgres::fresh_database;
use crate::support::postgres::sql::Sql;

const MESSAGE_DB: &str = include_str!("message_db.sql");

/// A database with an empty Message DB.
async fn message_db() -> (Database, Sql) {
    let database = fresh_database().await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run(MESSAGE_DB).await;
    (database, sql)
}

fn adopting(database: &Database) -> Config {
    Config::new(database.url()).adopt_message_db()
}

async fn adopt(database: &Database) -> PostgresStore {
    PostgresStore::connect(adopting(database)).await.unwrap()
}

/// Waits until this many sessions of the database wait for a lock on the table.
async fn wait_for_waiters(sql: &mut Sql, count: i64) {
    let waiting = "SELECT count(*) FROM pg_locks \
          WHERE NOT granted AND relation = 'message_store.messages'::regclass";
    crate::support::wait_until("sessions wait for the table", async || {
        sql.number(waiting).await == count
    })
    .await;
}
