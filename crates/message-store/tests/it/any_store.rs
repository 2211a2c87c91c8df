//! A store whose backend a URL chooses.

use message_conformance::Json;
use message_store::{AnyNamespaces, AnyStore, Error, MessageStore, Problem};

use crate::namespaces::closed_store_is_reopened;
use crate::support::postgres::fresh_database;
use crate::support::write;

message_conformance::suite!(
    async || AnyStore::open("memory:").await.unwrap(),
    Json::Bytes
);

/// Writes through the URL and reads the message back through a second store.
async fn assert_opens(url: &str) -> AnyStore {
    let store = AnyStore::open(url).await.unwrap();
    write(&store, "account-1", 1).await;
    store.close().await;
    let store = AnyStore::open(url).await.unwrap();
    assert_eq!(store.info().await.unwrap().message_count, 1, "{url}");
    store
}

#[tokio::test]
async fn path_opens_an_sqlite_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name).display().to_string();
    for url in [
        path("a.db"),
        format!("sqlite:{}", path("b.db")),
        format!("sqlite://{}", path("c.db")),
    ] {
        let store = assert_opens(&url).await;
        assert!(matches!(store, AnyStore::Sqlite(_)), "{url}");
    }
    assert!(folder.path().join("c.db").exists());
}

/// As in `dcb-core`. It was a file of this name.
#[tokio::test]
async fn sqlite_in_memory_is_no_file() {
    let store = AnyStore::open("sqlite::memory:").await.unwrap();
    assert!(!store.health().await.unwrap().is_durable);
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_url_opens_a_database() {
    let database = fresh_database().await;
    let store = assert_opens(database.url()).await;
    assert!(matches!(store, AnyStore::Postgres(_)));
}

#[tokio::test]
async fn other_urls_are_refused() {
    for url in [
        "mysql://host/db",
        "memory:x",
        "sqlite:",
        "sqlite:a.db?mode=ro",
        "",
    ] {
        let refused = AnyStore::open(url).await.map(drop);
        assert!(
            matches!(&refused, Err(Error::Invalid { field, problem: Problem::Malformed { .. } }) if field == "url"),
            "{url}: {refused:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_are_opened_by_url() {
    let (folder, database) = (tempfile::tempdir().unwrap(), fresh_database().await);
    let folder = folder.path().display().to_string();
    for url in [folder.as_str(), database.url()] {
        let namespaces = AnyNamespaces::open(url).await.unwrap();
        closed_store_is_reopened(&namespaces).await;
        assert!(namespaces.stats().is_some());
    }
}
