//! Tests of the pool against a real PostgreSQL.

mod abandoned;
mod borrowing;
mod closing;
mod encryption;
mod events;
mod hosts;
mod lost;
mod outages;
mod proxy;
mod sessions;
mod silent;
mod task;

use std::time::Duration;

use local_postgres::{Database, Durability};
use postgres_store::{Hosts, Lease, Limits, Pool, WriterConnection};
use sqlx::Row as _;
use sqlx::postgres::PgConnectOptions;

/// Longer than any operation takes, so that only a failing test waits for it.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

async fn database() -> Database {
    let server = local_postgres::shared_with(Durability::Relaxed).await;
    let server = server.expect("a PostgreSQL");
    server.create_database("pool").await.expect("a database")
}

fn options(url: &str) -> PgConnectOptions {
    url.parse().expect("a URL")
}

fn hosts_of(url: &str) -> Hosts {
    options(url).into()
}

/// A pool with this limit of connections.
fn pool(database: &Database, connections: u32) -> Pool {
    let limits = Limits::new(connections, TEST_TIMEOUT);
    Pool::new(options(database.url()), limits)
}

async fn borrow(pool: &Pool) -> Lease {
    pool.acquire().await.expect("a connection")
}

/// The process id of the server process behind a connection.
async fn process(connection: &mut Lease) -> i32 {
    sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(&mut **connection)
        .await
        .expect("an answer")
}

/// A setting, as the session of a writer sees it.
async fn setting(writer: &mut WriterConnection, name: &'static str) -> String {
    let asked = writer.connect_and_ask(|| sqlx::query("SELECT current_setting($1)").bind(name));
    asked.await.expect("a setting")[0]
        .try_get(0)
        .expect("a text")
}

/// The process id behind the connection that the next borrower gets.
async fn next_process(pool: &Pool) -> i32 {
    let mut connection = borrow(pool).await;
    let process = process(&mut connection).await;
    connection.give_back();
    process
}
