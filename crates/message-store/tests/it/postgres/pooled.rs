//! The store behind PgBouncer in transaction mode: the conformance suite, races and lost
//! connections. If PgBouncer is not installed, the tests run without it, with the same settings.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use conformance_suite::effort;
use local_postgres::{Database, PgBouncer};
use message_conformance::{Json, case_names, run};
use message_store::postgres::{Config, PostgresNamespaces, PostgresStore};
use message_store::{
    Category, Error, ExpectedVersion, GlobalPosition, MessageStore as _, NamespaceName,
    Namespaces as _, SubscribeOptions,
};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::crash::{Faults, Proxy};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, message, server, stream_name, whole_stream, write};

/// A database and the pooler in front of it.
struct PooledDatabase {
    database: Database,
    bouncer: Option<PgBouncer>,
}

impl PooledDatabase {
    async fn start(hint: &str) -> Self {
        let server = server().await;
        Self {
            database: server.create_database(hint).await.expect("a database"),
            bouncer: unmet::need("pgbouncer", PgBouncer::start(server.url()).await),
        }
    }

    fn url(&self) -> String {
        match &self.bouncer {
            Some(bouncer) => bouncer.url(self.database.name()),
            None => self.database.url().to_owned(),
        }
    }

    fn config(&self) -> Config {
        Config::new(self.url()).transaction_pooling()
    }
}

/// A new schema, through the pooler.
async fn new_config() -> Config {
    static DATABASE: OnceCell<PooledDatabase> = OnceCell::const_new();
    static STORES: AtomicU32 = AtomicU32::new(0);
    let pooled = DATABASE
        .get_or_init(|| PooledDatabase::start("suite"))
        .await;
    let number = STORES.fetch_add(1, Ordering::Relaxed);
    pooled.config().schema(format!("pooled_{number}"))
}

async fn store() -> PostgresStore {
    connect(new_config().await).await
}

/// Behind a pooler, a call is an open transaction: if it waited for its caller, it would keep the
/// locks of categories, and every other process would wait.
#[test]
fn held_calls_delay_no_other_with_one_connection() {
    for name in case_names().filter(|name| name.starts_with("held::")) {
        println!("{name}");
        run(name, Json::Values, async || {
            let mut config = new_config().await;
            config.read_connections = 1;
            connect(config).await
        });
    }
}

message_conformance::suite!(async || store().await, Json::Values);

/// The store checks expected versions correctly even if clients share sessions and the default
/// isolation level is not READ COMMITTED.
#[tokio::test(flavor = "multi_thread")]
async fn expected_versions_hold_under_stricter_default_isolation() {
    for isolation in ["repeatable read", "serializable"] {
        let pooled = PooledDatabase::start("isolation").await;
        let mut sql = Sql::connect(pooled.database.url()).await;
        sql.run(&format!(
            "ALTER DATABASE {} SET default_transaction_isolation = '{isolation}'",
            pooled.database.name()
        ))
        .await;
        let mut stores = Vec::new();
        for _ in 0..3 {
            stores.push(connect(pooled.config()).await);
        }
        let rounds = effort(10) as u64;
        let writing: Vec<_> = (0..12_usize)
            .map(|caller| tokio::spawn(increment(stores[caller % 3].clone(), rounds)))
            .collect();
        for writing in writing {
            writing.await.unwrap();
        }
        let messages = whole_stream(&stores[0], "counter-1").await;
        assert_eq!(messages.len() as u64, 12 * rounds);
        for store in stores {
            store.close().await;
        }
    }
}

/// Writes `rounds` messages, each at the version that the caller has read.
async fn increment(store: PostgresStore, rounds: u64) {
    let stream = stream_name("counter-1");
    let mut written = 0;
    while written < rounds {
        let version = store.stream_version(&stream).await.unwrap();
        let expected = ExpectedVersion::from_version(version);
        match store
            .write_message(&stream, message(written), expected)
            .await
        {
            Ok(_) => written += 1,
            Err(Error::WrongExpectedVersion { .. }) => {}
            Err(failed) => panic!("{failed:?}"),
        }
    }
}

/// The connection breaks at any request of the transaction, including its COMMIT.
#[tokio::test(flavor = "multi_thread")]
async fn write_on_a_breaking_connection_is_stored_once() {
    let pooled = PooledDatabase::start("breaking").await;
    let proxy = Proxy::start(&pooled.url()).await;
    let store = connect(Config::new(&proxy.url).transaction_pooling()).await;
    let rounds = effort(20);
    for round in 0..rounds {
        let at = ["BEGIN", "write_batch", "COMMIT"][round % 3];
        let forwards = round % 2 == 0;
        proxy.set(Faults::CutOnce { at, forwards });
        let (name, any) = (stream_name("a-1"), ExpectedVersion::Any);
        store
            .write_message(&name, message(round as u64), any)
            .await
            .expect("the store finds out the outcome");
    }
    assert_eq!(store.stats().lost_connections, rounds as u64);
    assert_eq!(whole_stream(&store, "a-1").await.len(), rounds);
    store.close().await;
}

/// LISTEN does not work through the pooler, so only polling finds the messages of other processes.
#[tokio::test(flavor = "multi_thread")]
async fn polling_finds_messages_of_another_process() {
    let pooled = PooledDatabase::start("polling").await;
    let (writer, reader) = (
        connect(pooled.config()).await,
        connect(pooled.config()).await,
    );
    let options = SubscribeOptions::new().poll_interval(Duration::from_millis(20));
    let mut all = reader.subscribe_to_category(Category::all(), GlobalPosition::START, options);
    for number in 0..20 {
        write(&writer, "a-1", number).await;
        let next = timeout(Duration::from_secs(20), all.next()).await;
        let message = next.expect("the message arrives").unwrap();
        assert_eq!(message.position().get(), number);
    }
    writer.close().await;
    reader.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_live_behind_a_pooler() {
    let pooled = PooledDatabase::start("namespaces").await;
    let namespaces = PostgresNamespaces::connect(pooled.config()).await.unwrap();
    for name in ["one", "two"] {
        let name = NamespaceName::new(name).unwrap();
        namespaces.create(&name, None).await.unwrap();
        let store = namespaces.open(&name).await.unwrap();
        write(&store, "a-1", 1).await;
        assert_eq!(whole_stream(&store, "a-1").await.len(), 1);
        assert_eq!(namespaces.delete(&name).await.unwrap(), 1);
    }
    namespaces.close().await;
}

/// The error was `Unavailable`, so a service waited for a pooler that never accepts it.
#[tokio::test]
async fn pooler_without_transaction_pooling_is_named_and_not_transient() {
    let pooled = PooledDatabase::start("defaults").await;
    if pooled.bouncer.is_none() {
        return;
    }
    let config = Config::new(pooled.url());
    let of_store = PostgresStore::connect(config.clone()).await.map(drop);
    let of_namespaces = PostgresNamespaces::connect(config).await.map(drop);
    for refused in [of_store, of_namespaces] {
        let refused = refused.unwrap_err();
        assert!(!refused.is_transient(), "{refused:?}");
        let text = refused.to_string();
        for named in [
            "extra_float_digits",
            "transaction_pooling",
            "ignore_startup_parameters",
        ] {
            assert!(text.contains(named), "{text}");
        }
    }
}
