//! Namespaces in one database.

use std::time::Duration;

use message_store::postgres::{Config, PostgresNamespaces, PostgresStore};
use message_store::{Error, MessageStore, NamespaceName, Namespaces};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{effort, fresh_database, wait_until, whole_category, write};

fn name(name: &str) -> NamespaceName {
    NamespaceName::new(name).expect("the name is valid")
}

/// Names that a careless backend would take for one another, or for SQL.
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
async fn names_that_differ_in_punctuation_stay_apart() {
    let database = fresh_database().await;
    let namespaces = PostgresNamespaces::connect(Config::new(database.url()))
        .await
        .unwrap();
    let mut stores: Vec<PostgresStore> = Vec::new();
    for (number, one) in NAMES.iter().enumerate() {
        namespaces.create(&name(one), None).await.unwrap();
        let store = namespaces.open(&name(one)).await.unwrap();
        for _ in 0..=number {
            write(&store, "a-1", number as u64).await;
        }
        stores.push(store);
    }
    let stats = namespaces.stats().expect("none is being opened");
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
    assert_eq!(namespaces.delete(&name(NAMES[3])).await.unwrap(), 4);
    assert!(matches!(stores[3].head().await, Err(Error::Closed)));
    assert!(matches!(
        namespaces.open(&name(NAMES[3])).await,
        Err(Error::NamespaceNotFound { .. })
    ));
    assert_eq!(whole_category(&stores[4], "").await.len(), 5);
    namespaces.close().await;
}

/// One that another process deleted is not found any more, and one that it made again is another.
#[tokio::test]
async fn what_another_process_deleted_and_made_again_is_opened_anew() {
    let database = fresh_database().await;
    let connect = || PostgresNamespaces::connect(Config::new(database.url()));
    let (own, other) = (connect().await.unwrap(), connect().await.unwrap());
    own.create(&name("one"), None).await.unwrap();
    let before = own.open(&name("one")).await.unwrap();
    write(&before, "a-1", 1).await;

    assert_eq!(other.delete(&name("one")).await.unwrap(), 1);
    let opened = own.open(&name("one")).await;
    assert!(matches!(opened, Err(Error::NamespaceNotFound { .. })));
    assert!(matches!(before.head().await, Err(Error::Closed)));

    other.create(&name("one"), None).await.unwrap();
    let after = own.open(&name("one")).await.unwrap();
    assert_eq!(after.head().await.unwrap(), None);
    let theirs = other.open(&name("one")).await.unwrap();
    write(&theirs, "a-1", 1).await;
    assert_eq!(whole_category(&after, "").await.len(), 1);
    own.close().await;
    other.close().await;
}

#[tokio::test]
async fn a_store_that_was_closed_is_opened_anew() {
    let database = fresh_database().await;
    let namespaces = PostgresNamespaces::connect(Config::new(database.url()))
        .await
        .unwrap();
    namespaces.create(&name("one"), None).await.unwrap();
    for messages in 1..3 {
        let store = namespaces.open(&name("one")).await.unwrap();
        write(&store, "a-1", 1).await;
        assert_eq!(whole_category(&store, "").await.len(), messages);
        store.close().await;
    }
    assert_eq!(namespaces.delete(&name("one")).await.unwrap(), 2);
    namespaces.close().await;
}

/// A writer in one namespace does not wait for one in the same category of another.
#[tokio::test]
async fn each_namespace_has_locks_and_positions_of_its_own() {
    let database = fresh_database().await;
    let namespaces = PostgresNamespaces::connect(Config::new(database.url()))
        .await
        .unwrap();
    for one in ["one", "two"] {
        namespaces.create(&name(one), None).await.unwrap();
    }
    let [one, two] = [
        namespaces.open(&name("one")).await.unwrap(),
        namespaces.open(&name("two")).await.unwrap(),
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
async fn of_several_at_once_one_creates() {
    let database = fresh_database().await;
    let config = Config::new(database.url());
    let connect = || PostgresNamespaces::connect(config.clone());
    let (one, two) = tokio::join!(connect(), connect());
    let [one, two] = [one.unwrap(), two.unwrap()];
    let attributes = Some(r#"{"owner":"me"}"#);
    let (tenant, same) = (name("tenant"), name("tenant"));
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

/// A store that was put into a schema by name keeps it for itself.
#[tokio::test]
async fn a_namespace_never_gets_the_schema_of_another_store() {
    let database = fresh_database().await;
    let config = Config::new(database.url());
    let other = PostgresStore::connect(config.clone().schema("message_store_1"));
    let other = other.await.unwrap();
    write(&other, "a-1", 1).await;
    let namespaces = PostgresNamespaces::connect(config).await.unwrap();
    namespaces.create(&name("one"), None).await.unwrap();
    let one = namespaces.open(&name("one")).await.unwrap();
    assert!(whole_category(&one, "").await.is_empty());
    assert_eq!(namespaces.delete(&name("one")).await.unwrap(), 0);
    assert_eq!(whole_category(&other, "").await.len(), 1);
    namespaces.close().await;
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_while_it_is_opened_is_not_installed_again() {
    let database = fresh_database().await;
    let connect = || PostgresNamespaces::connect(Config::new(database.url()));
    let mut sql = Sql::connect(database.url()).await;
    let one = name("one");
    for delay_ms in 0..effort(40) as u64 {
        let (own, other) = (connect().await.unwrap(), connect().await.unwrap());
        own.create(&one, None).await.unwrap();
        let opening = async {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            own.open(&one).await
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
        own.close().await;
        other.close().await;
    }
}
