//! The conformance suite.

use std::sync::atomic::{AtomicU32, Ordering};

use message_conformance::{Json, case_names, run};
use message_store::postgres::{Config, PostgresStore};

use crate::support::postgres::{connect, server};

/// A new schema of a shared database.
async fn config() -> Config {
    static STORES: AtomicU32 = AtomicU32::new(0);
    let number = STORES.fetch_add(1, Ordering::Relaxed);
    let schema = format!("store_{}_{number}", std::process::id());
    Config::new(server().await.url()).schema(schema)
}

async fn store() -> PostgresStore {
    connect(config().await).await
}

/// With a single read connection, any two reads need the same one.
#[test]
fn held_calls_delay_no_other_with_one_connection() {
    for name in case_names().filter(|name| name.starts_with("held::")) {
        println!("{name}");
        run(name, Json::Values, async || {
            let mut config = config().await;
            config.read_connections = 1;
            connect(config).await
        });
    }
}

message_conformance::suite!(async || store().await, Json::Values);
