//! The store behind PgBouncer in transaction mode: the conformance suite, races and lost
//! connections. If PgBouncer is not installed, the tests run without it, with the same settings.

mod defaults;
mod sharing;

use dcb_conformance::{cases, run};
use dcb_core::postgres::{Config, PostgresStore};
use local_postgres::{Database, PgBouncer};
use tokio::sync::OnceCell;

/// A database and the pooler in front of it.
struct PooledDatabase {
    database: Database,
    bouncer: Option<PgBouncer>,
}

impl PooledDatabase {
    async fn start(hint: &str) -> Self {
        let server = crate::support::postgres::server().await;
        Self {
            database: server.create_database(hint).await.expect("a database"),
            bouncer: unmet::need("pgbouncer", PgBouncer::start(server.url()).await),
        }
    }

    fn url(&self) -> String {
        match &self.bouncer {
            Some(bouncer) => bouncer.url(self.database.name()),
            None => self.database.url().to_owned(),
        }
    }

    /// Settings for a new log, through the pooler.
    fn new_log(&self) -> Config {
        crate::support::postgres::log_on(&self.url()).transaction_pooling()
    }
}

async fn fresh_log() -> Config {
    static DATABASE: OnceCell<PooledDatabase> = OnceCell::const_new();
    let pooled = DATABASE
        .get_or_init(|| PooledDatabase::start("suite"))
        .await;
    pooled.new_log()
}

async fn fresh_store() -> PostgresStore {
    crate::support::postgres::connect(&fresh_log().await).await
}

async fn store_with_one_connection() -> PostgresStore {
    let mut log = fresh_log().await;
    log.read_connections = 1;
    crate::support::postgres::connect(&log).await
}

/// A held call must not keep the log's lock either: behind a pooler it would be in an open
/// transaction, and every other process would wait.
#[test]
fn held_calls_delay_no_other_with_one_connection() {
    for case in cases::<PostgresStore>() {
        if case.name.starts_with("held::") {
            println!("{}", case.name);
            run(case.name, store_with_one_connection);
        }
    }
}

dcb_conformance::suite!(fresh_store);
