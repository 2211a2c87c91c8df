//! The conformance suite.

use std::sync::atomic::{AtomicU32, Ordering};

use message_store::conformance::Json;
use message_store::postgres::{Config, PostgresStore};

use crate::support::postgres::{connect, server};

/// An empty store in a new schema of a shared database.
async fn store() -> PostgresStore {
    static STORES: AtomicU32 = AtomicU32::new(0);
    let number = STORES.fetch_add(1, Ordering::Relaxed);
    let schema = format!("store_{}_{number}", std::process::id());
    connect(Config::new(server().await.url()).schema(schema)).await
}

message_store::conformance_suite!(async || store().await, Json::Values);
