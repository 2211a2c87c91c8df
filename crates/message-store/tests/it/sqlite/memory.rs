use message_store::conformance::Json;
use message_store::sqlite::{Config, SqliteStore};

async fn store() -> SqliteStore {
    SqliteStore::open(Config::memory()).await.unwrap()
}

message_store::conformance_suite!(store, Json::Bytes);
