//! The store behind PgBouncer in transaction mode: it passes the suite, and holds in the races and
//! the losses of connections that a pooler brings. Where PgBouncer is not installed, the same
//! settings are tested without it.

mod sharing;
#[path = "../support/mod.rs"]
mod support;

use dcb_core::postgres::{Config, PostgresStore};
use local_postgres::Database;
use support::pgbouncer::PgBouncer;
use tokio::sync::OnceCell;

/// This process's database and the pooler in front of it.
struct Place {
    database: Database,
    bouncer: Option<PgBouncer>,
}

impl Place {
    async fn start(hint: &str) -> Self {
        let server = support::server().await;
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

    /// A log of its own, through the pooler.
    fn log(&self) -> Config {
        support::log_on(&self.url()).transaction_pooling()
    }
}

async fn fresh_store() -> PostgresStore {
    static PLACE: OnceCell<Place> = OnceCell::const_new();
    let place = PLACE.get_or_init(|| Place::start("suite")).await;
    support::connect(&place.log()).await
}

dcb_core::conformance_suite!(fresh_store);
