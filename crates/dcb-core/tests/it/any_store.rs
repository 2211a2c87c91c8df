//! A store whose backend a URL chooses.

use dcb_core::{AnyStore, Error, EventStore, Problem};

use crate::support::events::{head, tagged};
use crate::support::postgres::server;

mod memory {
    use super::AnyStore;

    dcb_conformance::suite!(async || AnyStore::open("memory:").await.unwrap());
}

mod sqlite {
    use super::AnyStore;

    dcb_conformance::suite!(async || AnyStore::open("sqlite::memory:").await.unwrap());
}

/// Appends through the URL and finds the event through a second store.
async fn assert_opens(url: &str) -> AnyStore {
    let store = AnyStore::open(url).await.unwrap();
    store.append(tagged("a")).await.unwrap();
    store.close().await;
    let store = AnyStore::open(url).await.unwrap();
    assert_eq!(head(&store).await, 1, "{url}");
    store.clear().await.unwrap();
    assert_eq!(head(&store).await, 0, "{url}");
    store
}

#[tokio::test(flavor = "multi_thread")]
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

#[tokio::test(flavor = "multi_thread")]
async fn postgres_url_opens_a_database() {
    let database = server().await.create_database("any").await.unwrap();
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
    ] {
        let refused = AnyStore::open(url).await.map(drop);
        assert!(
            matches!(&refused, Err(Error::Invalid { field, problem: Problem::Malformed { .. } }) if field == "url"),
            "{url}: {refused:?}"
        );
    }
}
