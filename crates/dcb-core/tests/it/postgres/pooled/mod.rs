//! The store behind PgBouncer in transaction mode: the conformance suite, races and lost
//! connections. If PgBouncer is not installed, the tests run without it, with the same settings.

mod sharing;

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
            bouncer: PgBouncer::start(server.url()).await,
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

async fn fresh_store() -> PostgresStore {
    static DATABASE: OnceCell<PooledDatabase> = OnceCell::const_new();
    let pooled = DATABASE
        .get_or_init(|| PooledDatabase::start("suite"))
        .await;
    crate::support::postgres::connect(&pooled.new_log()).await
}

dcb_core::conformance_suite!(fresh_store);
