//! Namespaces in one database.

use std::sync::Arc;
use std::time::Duration;

use conformance_suite::effort;
use message_store::postgres::{Config, PostgresNamespaces, PostgresStore};
use message_store::{Error, Fault, MessageStore, NamespaceName, Namespaces};
use tokio::time::timeout;

use crate::namespaces;
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{fresh_database, wait_until, whole_category, write};

pub(super) fn namespace(name: &str) -> NamespaceName {
    NamespaceName::new(name).expect("the name is valid")
}

/// Names that a careless backend would confuse with each other or execute as SQL.
const NAMES: [&str; 9] = [
    "tenant-1",
    "tenant_1",
    "tenant.1",
    "Tenant-1",
    "tenant 1",
    "\"; DROP SCHEMA public; --",
    "../../etc/passwd",
    "pg_catalog",
    "ナムスペース",
];

#[tokio::test]
async fn names_that_differ_in_punctuation_stay_distinct() {
    let database = fresh_database().await;
    let namespaces = PostgresNamespaces::connect(Config::new(database.url()))
        .await
        .unwrap();
    let mut stores: Vec<PostgresStore> = Vec::new();
    for (number, one) in NAMES.iter().enumerate() {
        namespaces.create(&namespace(one), None).await.unwrap();
        let store = namespaces.open(&namespace(one)).await.unwrap();
        for _ in 0..=number {
            write(&store, "a-1", number as u64).await;
        }
        stores.push(store);
    }
    let stats = namespaces.stats().expect("no store is being opened");
    assert_eq!(stats.messages_written, 45);
    for (number, store) in stores.iter().enumerate() {
        let messages = whole_category(store, "").await;
        assert_eq!(messages.len(), number + 1);
        assert!(
            messages
                .iter()
                .all(|message| message.data_json() == number.to_string())
        );
    }
    let mut sorted = NAMES;
    sorted.sort_unstable();
    let listed = namespaces.list().await.unwrap();
    let listed: Vec<&str> = listed
        .iter()
        .map(|namespace| namespace.name.as_str())
        .collect();
    assert_eq!(listed, sorted);
    assert_eq!(namespaces.delete(&namespace(NAMES[3])).await.unwrap(), 4);
    assert!(matches!(
        stores[3].head().await,
        Err(Error::Fault(Fault::Closed))
    ));
    assert!(matches!(
        namespaces.open(&namespace(NAMES[3])).await,
        Err(Error::NamespaceNotFound { .. })
    ));
    assert_eq!(whole_category(&stores[4], "").await.len(), 5);
    namespaces.close().await;
}

/// A namespace that another process deletes is gone, and a recreated one is a new namespace.
#[tokio::test]
async fn namespace_recreated_by_other_process_is_reopened() {
    let database = fresh_database().await;
    let connect = || PostgresNamespaces::connect(Config::new(database.url()));
    let (first, other) = (connect().await.unwrap(), connect().await.unwrap());
    first.create(&namespace("one"), None).await.unwrap();
    let before = first.open(&namespace("one")).await.unwrap();
    write(&before, "a-1", 1).await;

    assert_eq!(other.delete(&namespace("one")).await.unwrap(), 1);
    let opened = first.open(&namespace("one")).await;
    assert!(matches!(opened, Err(Error::NamespaceNotFound { .. })));
    assert!(matches!(
        before.head().await,
        Err(Error::Fault(Fault::Closed))
    ));

    other.create(&namespace("one"), None).await.unwrap();
    let after = first.open(&namespace("one")).await.unwrap();
    assert_eq!(after.head().await.unwrap(), None);
    let theirs = other.open(&namespace("one")).await.unwrap();
    write(&theirs, "a-1", 1).await;
    assert_eq!(whole_category(&after, "").await.len(), 1);
    first.close().await;
    other.close().await;
}

#[tokio::test]
async fn closed_store_is_reopened() {
    let database = fresh_database().await;
    let config = Config::new(database.url());
    let namespaces = PostgresNamespaces::connect(config).await.unwrap();
    namespaces::closed_store_is_reopened(&namespaces).await;
    namespaces.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn held_calls_delay_no_other() {
    let database = fresh_database().await;
    let mut config = Config::new(database.url());
    config.read_connections = 1;
    let namespaces = PostgresNamespaces::connect(config).await.unwrap();
    namespaces::held_calls_delay_no_other(&namespaces).await;
}

/// A writer does not wait for a writer of the same category in another namespace.
#[tokio::test]
async fn namespaces_have_separate_locks_and_positions() {
    let database = fresh_database().await;
    let namespaces = PostgresNamespaces::connect(Config::new(database.url()))
        .await
        .unwrap();
    for one in ["one", "two"] {
        namespaces.create(&namespace(one), None).await.unwrap();
    }
    let [one, two] = [
        namespaces.open(&namespace("one")).await.unwrap(),
        namespaces.open(&namespace("two")).await.unwrap(),
    ];
    let mut sql = Sql::connect(database.url()).await;
    let schema = sql
        .value("SELECT 'message_store_' || number FROM message_store_namespaces.namespace WHERE name = 'one'")
        .await;
    sql.run(&format!(
        "BEGIN; SELECT {schema}.write_message(gen_random_uuid()::varchar, 'a-1', 'T', '{{}}')"
    ))
    .await;
    write(&two, "a-1", 1).await;
    assert_eq!(two.stats().commits, 1, "the write had to wait");
    assert_eq!(whole_category(&two, "").await.len(), 1);
    let writing = {
        let one = one.clone();
        tokio::spawn(async move { write(&one, "a-1", 1).await })
    };
    wait_until("the write to the same namespace waits", async || {
        one.stats().commits == 1
    })
    .await;
    assert!(!writing.is_finished());
    sql.run("COMMIT").await;
    writing.await.unwrap();
    assert_eq!(whole_category(&one, "a").await.len(), 2);
    namespaces.close().await;
}

#[tokio::test]
async fn one_of_concurrent_creators_succeeds() {
    let database = fresh_database().await;
    let config = Config::new(database.url());
    let connect = || PostgresNamespaces::connect(config.clone());
    let (one, two) = tokio::join!(connect(), connect());
    let [one, two] = [one.unwrap(), two.unwrap()];
    let attributes = Some(r#"{"owner":"me"}"#);
    let (tenant, same) = (namespace("tenant"), namespace("tenant"));
    let created = tokio::join!(
        one.create(&tenant, attributes),
        two.create(&same, attributes)
    );
    let created = [created.0, created.1];
    let exists = |result: &&Result<_, Error>| matches!(result, Err(Error::NamespaceExists { .. }));
    assert_eq!(created.iter().filter(exists).count(), 1, "{created:?}");
    let namespace = two.get(&tenant).await.unwrap();
    assert_eq!(namespace.attributes.as_deref(), attributes);
    assert_eq!(created.into_iter().find_map(Result::ok), Some(namespace));
    one.close().await;
    two.close().await;
}

/// A store that was opened in a schema by name keeps that schema.
#[tokio::test]
async fn namespace_never_takes_schema_of_other_store() {
    let database = fresh_database().await;
    let config = Config::new(database.url());
    let other = PostgresStore::connect(config.clone().schema("message_store_1"));
    let other = other.await.unwrap();
    write(&other, "a-1", 1).await;
    let namespaces = PostgresNamespaces::connect(config).await.unwrap();
    namespaces.create(&namespace("one"), None).await.unwrap();
    let one = namespaces.open(&namespace("one")).await.unwrap();
    assert!(whole_category(&one, "").await.is_empty());
    assert_eq!(namespaces.delete(&namespace("one")).await.unwrap(), 0);
    assert_eq!(whole_category(&other, "").await.len(), 1);
    namespaces.close().await;
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn namespace_deleted_while_opening_is_not_reinstalled() {
    let database = fresh_database().await;
    let connect = || PostgresNamespaces::connect(Config::new(database.url()));
    let mut sql = Sql::connect(database.url()).await;
    let one = namespace("one");
    // Covers the 40 ms that opening takes; thorough runs try every delay.
    let delays = effort(10) as u64;
    let step = (40 / delays).max(1);
    for delay_ms in (0..delays).map(|number| number * step) {
        let (first, other) = (connect().await.unwrap(), connect().await.unwrap());
        first.create(&one, None).await.unwrap();
        let opening = async {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            first.open(&one).await
        };
        let (opened, deleted) = tokio::join!(opening, other.delete(&one));
        assert_eq!(deleted.unwrap(), 0);
        assert!(
            matches!(opened, Ok(_) | Err(Error::NamespaceNotFound { .. })),
            "{opened:?}"
        );
        let left = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'message\\_store\\__%'
                     AND nspname <> 'message_store_namespaces'";
        assert_eq!(sql.number(left).await, 0, "after {delay_ms} ms");
        first.close().await;
        other.close().await;
    }
}

/// Clients of Message DB reach the messages of the interface's namespace.
#[tokio::test]
async fn interface_namespace_is_in_schema_of_message_db() {
    let database = fresh_database().await;
    let main = namespace("main");
    let config = Config::new(database.url()).interface_namespace(main.clone());
    let connect = || PostgresNamespaces::connect(config.clone());
    let (first, other) = (connect().await.unwrap(), connect().await.unwrap());
    for name in ["main", "tenant"] {
        first.create(&namespace(name), None).await.unwrap();
    }
    let store = first.open(&main).await.unwrap();
    write(&store, "a-1", 1).await;
    let tenant = first.open(&namespace("tenant")).await.unwrap();
    write(&tenant, "a-1", 1).await;
    let mut client = Sql::as_message_store(database.url()).await;
    assert_eq!(client.write("a-1").await, 1);
    assert_eq!(whole_category(&store, "a").await.len(), 2);

    // The namespace is created again in the same schema, and is another one.
    assert_eq!(other.delete(&main).await.unwrap(), 2);
    other.create(&main, None).await.unwrap();
    let again = first.open(&main).await.unwrap();
    assert!(matches!(
        store.head().await,
        Err(Error::Fault(Fault::Closed))
    ));
    assert_eq!(whole_category(&again, "").await.len(), 0);
    let mut client = Sql::as_message_store(database.url()).await;
    assert_eq!(client.write("a-1").await, 0);
    assert_eq!(whole_category(&again, "").await.len(), 1);
    assert_eq!(whole_category(&tenant, "").await.len(), 1);
    first.close().await;
    other.close().await;
}

/// A namespace that has a schema stays there.
#[tokio::test]
async fn interface_namespace_keeps_schema_that_it_has() {
    let database = fresh_database().await;
    let main = namespace("main");
    let before = PostgresNamespaces::connect(Config::new(database.url()));
    let before = before.await.unwrap();
    before.create(&main, None).await.unwrap();
    write(&before.open(&main).await.unwrap(), "a-1", 1).await;
    before.close().await;
    let config = Config::new(database.url()).interface_namespace(main.clone());
    let namespaces = PostgresNamespaces::connect(config).await.unwrap();
    let created = namespaces.create(&main, None).await;
    assert!(
        matches!(created, Err(Error::NamespaceExists { .. })),
        "{created:?}"
    );
    let store = namespaces.open(&main).await.unwrap();
    assert_eq!(whole_category(&store, "").await.len(), 1);
    namespaces.close().await;
}

/// The messages of a store, or of a Message DB that it adopted, become those of the namespace.
#[tokio::test]
async fn interface_namespace_takes_messages_of_the_interface() {
    let database = fresh_database().await;
    let store = PostgresStore::connect(Config::new(database.url()));
    let store = store.await.unwrap();
    write(&store, "a-1", 1).await;
    let main = namespace("main");
    let config = Config::new(database.url()).interface_namespace(main.clone());
    let namespaces = PostgresNamespaces::connect(config).await.unwrap();
    namespaces.create(&main, None).await.unwrap();
    let opened = namespaces.open(&main).await.unwrap();
    assert_eq!(whole_category(&opened, "").await.len(), 1);
    namespaces.close().await;
    store.close().await;
}

/// A transaction that uses a namespace delays its deletion, and no other namespace.
#[tokio::test(flavor = "multi_thread")]
async fn slow_namespace_delays_no_other() {
    let database = fresh_database().await;
    let namespaces = PostgresNamespaces::connect(Config::new(database.url()));
    let namespaces = Arc::new(namespaces.await.unwrap());
    for one in ["slow", "quick"] {
        namespaces.create(&namespace(one), None).await.unwrap();
    }
    let mut sql = Sql::connect(database.url()).await;
    let schema = sql
        .value("SELECT 'message_store_' || number FROM message_store_namespaces.namespace WHERE name = 'slow'")
        .await;
    sql.run(&format!("BEGIN; SELECT FROM {schema}.messages"))
        .await;
    let deleting = Arc::clone(&namespaces);
    let deleting = tokio::spawn(async move { deleting.delete(&namespace("slow")).await });
    wait_until("the deletion waits", async || {
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = \
                      (SELECT oid FROM pg_database WHERE datname = current_database())";
        sql.number(waits).await == 1
    })
    .await;
    let quick = namespace("quick");
    let opened = timeout(Duration::from_secs(60), namespaces.open(&quick)).await;
    let quick = opened.expect("it does not wait").unwrap();
    write(&quick, "a-1", 1).await;
    sql.run("COMMIT").await;
    assert_eq!(deleting.await.unwrap().unwrap(), 0);
    namespaces.close().await;
}
