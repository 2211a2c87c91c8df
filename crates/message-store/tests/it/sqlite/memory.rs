use message_conformance::Json;
use message_store::sqlite::{Config, SqliteStore};

async fn store() -> SqliteStore {
    SqliteStore::open(Config::memory()).await.unwrap()
}

message_conformance::suite!(store, Json::Bytes);
