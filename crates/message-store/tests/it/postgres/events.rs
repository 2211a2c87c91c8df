//! Events in the log.

use std::time::Duration;

use local_postgres::SessionProxy;
use message_store::NamespaceName;
use message_store::postgres::Config;
use message_store::postgres::PostgresNamespaces;
use message_store::{ExpectedVersion, MessageStore as _, Namespaces as _};
use store_meter::testing::Log;

use crate::support::postgres::{connect, fresh_database, message, stream_name, wait_until, write};

/// The stores of all namespaces share one server.
#[tokio::test]
async fn outage_is_told_once_whatever_fails_in_it() {
    let database = fresh_database().await;
    let proxy = SessionProxy::start(database.url()).await;
    let mut config = Config::new(proxy.url());
    config.write_timeout = Duration::from_millis(1500);
    config.read_timeout = Duration::from_millis(1500);
    let log = Log::begin();
    let namespaces = PostgresNamespaces::connect(config).await.unwrap();
    let mut stores = Vec::new();
    for name in ["one", "two"] {
        let name = NamespaceName::new(name).unwrap();
        namespaces.create(&name, None).await.unwrap();
        stores.push(namespaces.open(&name).await.unwrap());
    }
    for store in &stores {
        write(store, "a-1", 1).await;
    }
    let _notifications = stores[0].notifications();
    let listener = || stores[0].stats().listener.unwrap();
    wait_until("it listens", async || listener().lost_since.is_none()).await;
    proxy.silence_new(true);
    proxy.silence();
    let stream = stream_name("a-1");
    for _ in 0..3 {
        for store in &stores {
            let failed = store.write_message(&stream, message(2), ExpectedVersion::Any);
            failed.await.unwrap_err();
            store.stream_version(&stream).await.unwrap_err();
        }
    }
    wait_until("it is lost", async || listener().lost_since.is_some()).await;
    proxy.silence_new(false);
    for store in &stores {
        wait_until("the store writes again", async || {
            let written = store.write_message(&stream, message(3), ExpectedVersion::Any);
            written.await.is_ok()
        })
        .await;
    }
    wait_until("it listens", async || listener().lost_since.is_none()).await;
    log.assert_one(
        "PostgreSQL can't be reached",
        &["WARN", "cause=", "message-store"],
    );
    log.assert_one("PostgreSQL can be reached again", &["INFO", "after="]);
    log.assert_one(
        "the listener is lost",
        &["WARN", "channel=\"message_store_", "cause="],
    );
    log.assert_one("the listener was replaced", &["INFO", "after="]);
    namespaces.close().await;
}

#[tokio::test]
async fn installation_is_told_once() {
    let database = fresh_database().await;
    let log = Log::begin();
    for _ in 0..2 {
        connect(Config::new(database.url())).await.close().await;
    }
    let parts = ["INFO", "schema=\"message_store\"", "from=0 to="];
    log.assert_one("the schema was installed", &parts);
}
