//! Connections that the namespaces of one database share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use conformance_suite::effort;
use message_store::postgres::{Config, PostgresNamespaces};
use message_store::{Category, GlobalPosition, MessageStore, Namespaces, SubscribeOptions};
use tokio::time::timeout;

use super::namespaces::namespace;
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{fresh_database, wait_until, whole_category, write};

/// The tenants share the connections for writes.
#[tokio::test(flavor = "multi_thread")]
async fn writes_of_all_namespaces_share_a_few_connections() {
    let database = fresh_database().await;
    let namespaces = PostgresNamespaces::connect(Config::new(database.url()));
    let namespaces = namespaces.await.unwrap();
    let mut writing = Vec::new();
    let tenants = effort(30);
    for tenant in 0..tenants {
        let name = namespace(&format!("tenant-{tenant}"));
        namespaces.create(&name, None).await.unwrap();
        let store = namespaces.open(&name).await.unwrap();
        writing.push(tokio::spawn(async move {
            for number in 0..5 {
                write(&store, "a-1", number).await;
            }
            store
        }));
    }
    let mut stores = Vec::new();
    for store in writing {
        stores.push(store.await.unwrap());
    }
    let mut sql = Sql::connect(database.url()).await;
    let count = "SELECT count(*) FROM pg_stat_activity \
                  WHERE datname = current_database() AND query LIKE '%.write_batch(%' \
                    AND pid <> pg_backend_pid()";
    let connections = sql.number(count).await;
    assert!((1..=8).contains(&connections), "{connections} connections");
    for store in &stores {
        assert_eq!(whole_category(store, "").await.len(), 5);
    }
    // A closed store leaves the connections to the others.
    stores[0].close().await;
    write(&stores[1], "a-1", 5).await;
    namespaces.close().await;
    sql.close().await;
}

/// A session of PostgreSQL keeps what it has compiled for each schema until it ends.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_for_reads_and_writes_end_after_many_schemas() {
    let database = fresh_database().await;
    let namespaces = PostgresNamespaces::connect(Config::new(database.url()));
    let namespaces = namespaces.await.unwrap();
    let open = async |tenant: usize| {
        let name = namespace(&format!("tenant-{tenant}"));
        namespaces.create(&name, None).await.unwrap();
        let store = namespaces.open(&name).await.unwrap();
        for number in 0..2 {
            write(&store, "a-1", number).await;
        }
        assert_eq!(whole_category(&store, "").await.len(), 2);
    };
    open(0).await;
    let mut sql = Sql::connect(database.url()).await;
    // Of statements in the first schema. An administrator's session ends by itself.
    let sessions = "SELECT string_agg(pid::text, ', ') FROM pg_stat_activity \
        WHERE datname = current_database() AND application_name = 'message-store' \
          AND (query LIKE '%.write_batch(%' OR query LIKE '%.get_all_messages(%')";
    let sessions = sql.value(sessions).await;
    let open_sessions = format!("SELECT count(*) FROM pg_stat_activity WHERE pid IN ({sessions})");
    assert_eq!(sql.number(&open_sessions).await, 2, "{sessions}");
    for tenant in 1..66 {
        open(tenant).await;
    }
    wait_until("both sessions have ended", async || {
        sql.number(&open_sessions).await == 0
    })
    .await;
    namespaces.close().await;
    sql.close().await;
}

/// The tenants share the connection that listens.
#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_of_all_namespaces_share_a_listener() {
    const HOLDERS: &str = "FROM pg_locks WHERE locktype = 'advisory' AND classid = 1297306964 \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let database = fresh_database().await;
    let config = Config::new(database.url());
    let namespaces = PostgresNamespaces::connect(config.clone()).await.unwrap();
    let mut subscriptions = Vec::new();
    let heard = Arc::new(AtomicUsize::new(0));
    for tenant in 0..effort(40) {
        let name = namespace(&format!("tenant-{tenant}"));
        namespaces.create(&name, None).await.unwrap();
        let store = namespaces.open(&name).await.unwrap();
        // Only a notification wakes it.
        let never = SubscribeOptions::new().poll_interval(Duration::from_secs(3600));
        let mut messages =
            store.subscribe_to_category(Category::all(), GlobalPosition::START, never);
        let heard = Arc::clone(&heard);
        let subscription = tokio::spawn(async move {
            for _ in 0..2 {
                messages.next().await.unwrap();
                heard.fetch_add(1, Ordering::Relaxed);
            }
        });
        subscriptions.push((name, store, subscription));
    }
    let all_hear = async |replacements| {
        wait_until("all hear", async || {
            subscriptions.iter().all(|(_, store, _)| {
                let listener = store.stats().listener;
                listener.is_some_and(|listener| {
                    (listener.lost_since, listener.replacements) == (None, replacements)
                })
            })
        })
        .await;
    };
    all_hear(0).await;
    let mut sql = Sql::connect(database.url()).await;
    let listeners = format!("SELECT count(*) {HOLDERS}");
    assert_eq!(sql.number(&listeners).await, 1);
    // Eight for reads, four for each kind of write, and the listener.
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                     AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    wait_until("the connections are few", async || {
        sql.number(sessions).await <= 17
    })
    .await;

    let other = PostgresNamespaces::connect(config).await.unwrap();
    for round in 0..2_u64 {
        for (name, ..) in &subscriptions {
            let store = other.open(name).await.unwrap();
            write(&store, "a-1", round).await;
        }
        if round == 0 {
            sql.run(&format!("SELECT pg_terminate_backend(pid) {HOLDERS}"))
                .await;
            all_hear(1).await;
            let listener = namespaces.stats().unwrap().listener.unwrap();
            assert_eq!(listener.replacements, 1);
        }
    }
    for (_, _, subscription) in &mut subscriptions {
        // Thousands need some minutes. The test fails when a minute passes in which none of them hears anything.
        loop {
            let before = heard.load(Ordering::Relaxed);
            match timeout(Duration::from_secs(60), &mut *subscription).await {
                Ok(ended) => break ended.unwrap(),
                Err(_) => assert_ne!(
                    heard.load(Ordering::Relaxed),
                    before,
                    "a subscription hears nothing"
                ),
            }
        }
    }
    assert_eq!(sql.number(&listeners).await, 1);
    // The connection ends with the last subscription.
    namespaces.close().await;
    wait_until("nothing listens", async || {
        sql.number(&listeners).await == 0
    })
    .await;
    other.close().await;
    sql.close().await;
}
