use std::time::Duration;

use conformance_suite::assert_greatest;
use message_store::sqlite::{Config, SqliteStore};
use message_store::{ExpectedVersion, MessageStore, Position};

use crate::support::UNLIMITED;
use crate::support::sqlite::{all, message, stream_name};

/// `Duration::MAX` is longer than a clock can count, and longer than SQLite supports.
#[tokio::test]
async fn every_limit_may_have_its_greatest_value() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::file(folder.path().join("messages.sqlite"));
    config.limits = UNLIMITED;
    config.write_timeout = Duration::MAX;
    config.read_timeout = Duration::MAX;
    config.max_batch_requests = usize::MAX;
    config.max_batch_bytes = usize::MAX;
    config.max_queued_requests = usize::MAX;
    config.max_queued_bytes = usize::MAX;
    config.read_connections = u32::MAX;
    config.cache_bytes = usize::MAX;
    config.max_open_namespaces = usize::MAX;
    assert_greatest(&config);
    let store = SqliteStore::open(config).await.unwrap();
    let (blocking, stream) = (store.blocking(), stream_name("a-1"));
    blocking
        .write_message(&stream, message(0), ExpectedVersion::Any)
        .unwrap();
    store
        .write_message(&stream, message(1), ExpectedVersion::Any)
        .await
        .unwrap();
    assert_eq!(all(blocking).len(), 2);
    assert_eq!(
        store
            .truncate_stream(&stream, Position::new(1))
            .await
            .unwrap(),
        1
    );
}
