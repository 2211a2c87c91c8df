//! The recorded metrics of the stores are those of the table in README.md.

use std::future::pending;
use std::time::Duration;

use message_store::postgres::{Config as PostgresConfig, PostgresNamespaces};
use message_store::sqlite::{Config as SqliteConfig, SqliteNamespaces, SqliteStore};
use message_store::{
    Error, ExpectedVersion, Failure, GlobalPosition, MessageRunner, MessageStore, NamespaceName,
    Namespaces, RecordedMessage, RunOptions, SubscribeOptions,
};
use store_meter::testing::{Recorded, Recording, documented};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::support::postgres::fresh_database;
use crate::support::{category, message, messages, stream_name, whole_stream};

/// Two writes with four messages, a conflict, a read, and a subscription that reads all and waits.
async fn work<S: MessageStore + Clone>(store: &S) {
    let stream = stream_name("order-1");
    let written = store.write_batch(&stream, messages(3), ExpectedVersion::NoStream);
    written.await.expect("the messages are written");
    let written = store.write_message(&stream, message(3), ExpectedVersion::Any);
    written.await.expect("the message is written");
    let conflict = store.write_message(&stream, message(4), ExpectedVersion::NoStream);
    let conflict = conflict.await.expect_err("the stream exists");
    assert!(matches!(conflict, Error::WrongExpectedVersion { .. }));
    whole_stream(store, "order-1").await;
    let mut orders = store.subscribe_to_category(
        category("order"),
        GlobalPosition::START,
        SubscribeOptions::new(),
    );
    for _ in 0..4 {
        orders.next().await.expect("a message");
    }
    let fifth = timeout(Duration::from_millis(100), orders.next()).await;
    assert!(fifth.is_err());
}

fn assert_as_documented(recorded: &Recorded, backend: &str) {
    let table = documented(include_str!("../../README.md"), "message_store");
    assert_eq!(recorded.rows(&["backend"]), table);
    assert_eq!(recorded.values_of("backend"), [backend].into());
}

fn assert_work_is_counted(recorded: &Recorded) {
    for (name, outcome, wanted) in [
        ("message_store_writes_total", Some("committed"), 2.0),
        ("message_store_writes_total", Some("conflict"), 1.0),
        ("message_store_writes_total", Some("unknown"), 0.0),
        ("message_store_writes_waiting", None, 0.0),
        ("message_store_messages_written_total", None, 4.0),
        ("message_store_queue_seconds", None, 3.0),
        ("message_store_commit_seconds", None, 3.0),
        ("message_store_commit_requests", None, 3.0),
        ("message_store_commit_messages", None, 3.0),
        ("message_store_pool_connections_in_use", None, 0.0),
        ("message_store_followers", None, 0.0),
        ("message_store_follower_lag_positions", None, 0.0),
        ("message_store_follower_retries_total", None, 0.0),
    ] {
        let label = outcome.map(|outcome| ("outcome", outcome));
        assert_eq!(recorded.number(name, label), wanted, "{name} {outcome:?}");
    }
    for name in [
        "message_store_read_seconds",
        "message_store_follower_waits_total",
    ] {
        assert!(recorded.number(name, None) > 0.0, "{name}");
    }
}

fn assert_pool_is_measured(recorded: &Recorded) {
    for name in [
        "message_store_pool_wait_seconds",
        "message_store_pool_connections",
        "message_store_pool_connections_opened_total",
    ] {
        assert!(recorded.number(name, None) > 0.0, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_memory_records_what_the_readme_says() {
    let store = SqliteStore::open(SqliteConfig::memory());
    let (store, recording) = Recording::of(store).await;
    let store = store.expect("a store");
    work(&store).await;
    let recorded = recording.look();
    assert_as_documented(&recorded, "sqlite");
    assert_work_is_counted(&recorded);
}

/// The stores of all namespaces record together, although each is opened later.
async fn namespaces_record_what_the_readme_says<N: Namespaces>(
    backend: &str,
    namespaces: N,
    recording: Recording,
) where
    N::Store: Clone,
{
    let name = NamespaceName::new("tenant").expect("the name is valid");
    let created = namespaces.create(&name, None).await;
    created.expect("the namespace is created");
    let store = namespaces.open(&name).await.expect("the namespace exists");
    work(&store).await;
    let recorded = recording.look();
    assert_as_documented(&recorded, backend);
    assert_work_is_counted(&recorded);
    assert_pool_is_measured(&recorded);
    namespaces.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_in_sqlite_record_what_the_readme_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let namespaces = async { SqliteNamespaces::new(SqliteConfig::file(folder.path())) };
    let (namespaces, recording) = Recording::of(namespaces).await;
    let namespaces = namespaces.expect("a folder");
    namespaces_record_what_the_readme_says("sqlite", namespaces, recording).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_in_postgresql_record_what_the_readme_says() {
    let database = fresh_database().await;
    let namespaces = PostgresNamespaces::connect(PostgresConfig::new(database.url()));
    let (namespaces, recording) = Recording::of(namespaces).await;
    let namespaces = namespaces.expect("a connection");
    namespaces_record_what_the_readme_says("postgres", namespaces, recording).await;
}

/// A subscription with full pages looks at the end of the log.
#[tokio::test(flavor = "multi_thread")]
async fn the_lag_of_a_subscription_counts_until_it_ends() {
    let store = SqliteStore::open(SqliteConfig::memory());
    let (store, recording) = Recording::of(store).await;
    let store = store.expect("a store");
    let stream = stream_name("order-1");
    let written = store.write_batch(&stream, messages(10), ExpectedVersion::NoStream);
    written.await.expect("the messages are written");
    let pages = SubscribeOptions::new().batch_size(4);
    let mut orders = store.subscribe_to_category(category("order"), GlobalPosition::START, pages);
    orders.next().await.expect("a message");
    let (lag, followers) = (
        "message_store_follower_lag_positions",
        "message_store_followers",
    );
    let recorded = recording.look();
    assert_eq!(recorded.number(lag, None), 6.0);
    assert_eq!(recorded.number(followers, None), 1.0);
    drop(orders);
    // The look has set the gauges back to 0.
    let change = recording.look();
    assert_eq!(change.number(lag, None), -6.0);
    assert_eq!(change.number(followers, None), -1.0);
}

/// The handler holds the first message of the second page.
#[tokio::test(flavor = "multi_thread")]
async fn the_lag_of_a_runner_counts_until_its_run_ends() {
    let store = SqliteStore::open(SqliteConfig::memory());
    let (store, recording) = Recording::of(store).await;
    let store = store.expect("a store");
    let stream = stream_name("order-1");
    let written = store.write_batch(&stream, messages(10), ExpectedVersion::NoStream);
    written.await.expect("the messages are written");
    let fifth = Notify::new();
    let handler = |message: RecordedMessage| {
        let is_fifth = message.global_position().get() == 5;
        let fifth = &fifth;
        async move {
            if is_fifth {
                fifth.notify_one();
                pending::<()>().await;
            }
            Ok(())
        }
    };
    let runner = MessageRunner::new(store, "invoices", category("order"), handler);
    let pages = RunOptions::new().batch_size(4);
    let mut runner = runner.expect("a consumer").options(pages);
    let mut running = Box::pin(runner.run());
    tokio::select! {
        ended = &mut running => panic!("{ended:?}"),
        () = fifth.notified() => {}
    }
    let recorded = recording.look();
    assert_eq!(
        recorded.number("message_store_follower_lag_positions", None),
        6.0
    );
    assert_eq!(recorded.number("message_store_followers", None), 1.0);
    drop(running);
    let change = recording.look();
    assert_eq!(
        change.number("message_store_follower_lag_positions", None),
        -6.0
    );
    assert_eq!(change.number("message_store_followers", None), -1.0);
}

/// A failure of the message itself is no outage.
#[tokio::test(flavor = "multi_thread")]
async fn each_retry_of_a_runner_in_an_outage_counts() {
    let store = SqliteStore::open(SqliteConfig::memory());
    let (store, recording) = Recording::of(store).await;
    let store = store.expect("a store");
    let stream = stream_name("order-1");
    let written = store.write_message(&stream, message(1), ExpectedVersion::NoStream);
    written.await.expect("the message is written");
    let mut failures = [
        Failure::Outage("the mail server is down".into()),
        Failure::Message("the address is unknown".into()),
        Failure::Outage("the mail server is down".into()),
    ]
    .into_iter();
    let handler = move |_| {
        let failure = failures.next();
        async { failure.map_or(Ok(()), Err) }
    };
    let runner = MessageRunner::new(store, "invoices", category("order"), handler);
    let mut runner = runner.expect("a consumer");
    runner.catch_up().await.expect("the message is handled");
    let retries = "message_store_follower_retries_total";
    assert_eq!(recording.look().number(retries, None), 2.0);
}
