//! A sequence of global positions that is behind the messages, as logical replication and a data-only
//! restore leave it. A write would take a position that subscribers have passed, or that is taken.

use message_store::postgres::{Config, PostgresStore};
use message_store::{
    Category, Error, ExpectedVersion, GlobalPosition, MessageStore as _, SubscribeOptions,
};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    connect, create_run_time_login, fresh_store, message, stream_name, url_as, write,
};

/// States of the sequence after five messages: as if it had never been used, and between two of them.
const BEHIND: [&str; 2] = ["1, false", "3, true"];

async fn set_back(sql: &mut Sql, value: &str) {
    sql.run(&format!(
        "SELECT setval('message_store.messages_global_position_seq', {value})"
    ))
    .await;
}

/// Checks that a subscription that has read five messages gets the next three.
async fn check_subscription(store: &PostgresStore) {
    let category = Category::of(&stream_name("a-1"));
    let passed = GlobalPosition::new(6);
    let options = SubscribeOptions::new();
    let mut subscription = store.subscribe_to_category(category, passed, options);
    for number in 5..8 {
        let next = subscription.next().await.unwrap();
        assert_eq!(next.position().get(), number);
    }
}

async fn write_some(store: &PostgresStore, numbers: std::ops::Range<u64>) {
    for number in numbers {
        write(store, "a-1", number).await;
    }
}

#[tokio::test]
async fn sequence_is_advanced_when_a_store_opens() {
    for behind in BEHIND {
        let (database, store) = fresh_store().await;
        write_some(&store, 0..5).await;
        store.close().await;
        let mut sql = Sql::connect(database.url()).await;
        set_back(&mut sql, behind).await;
        let store = connect(Config::new(database.url())).await;
        assert_eq!(
            store.head().await.unwrap().map(|head| head.position),
            Some(GlobalPosition::new(5))
        );
        assert_eq!(sql.write("a-1").await, 5);
        write_some(&store, 6..8).await;
        check_subscription(&store).await;
        store.close().await;
    }
}

#[tokio::test]
async fn sequence_is_advanced_before_a_write() {
    for (is_pooled, behind) in [(false, BEHIND[0]), (false, BEHIND[1]), (true, BEHIND[1])] {
        let (database, other) = fresh_store().await;
        let mut config = Config::new(database.url());
        config.transaction_pooling = is_pooled;
        let store = connect(config).await;
        write_some(&store, 0..5).await;
        set_back(&mut Sql::connect(database.url()).await, behind).await;
        write_some(&store, 5..8).await;
        check_subscription(&store).await;
        store.close().await;
        other.close().await;
    }
}

#[tokio::test]
async fn login_that_may_not_advance_the_sequence_learns_how() {
    let (database, owner) = fresh_store().await;
    write_some(&owner, 0..5).await;
    let app = create_run_time_login(&database).await;
    let url = url_as(database.url(), &app);
    let store = connect(Config::new(&url)).await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run(&format!(
        "REVOKE UPDATE ON SEQUENCE message_store.messages_global_position_seq FROM {app}"
    ))
    .await;
    set_back(&mut sql, BEHIND[1]).await;
    let stream = stream_name("a-1");
    let refused = store
        .write_message(&stream, message(1), ExpectedVersion::Any)
        .await
        .unwrap_err();
    assert!(!refused.is_transient(), "{refused:?}");
    let reopened = PostgresStore::connect(Config::new(&url)).await;
    let reopened = reopened.expect_err("refused");
    for refused in [refused, reopened] {
        assert!(
            matches!(refused, Error::SequenceBehind { .. }),
            "{refused:?}"
        );
        let told = refused.to_string();
        let (_, statement) = told.split_once("run: ").expect("a statement");
        set_back(&mut sql, BEHIND[1]).await;
        sql.run(statement).await;
        write(&store, "a-1", 1).await;
    }
    store.close().await;
    owner.close().await;
    sql.run(&format!("DROP OWNED BY {app}; DROP ROLE {app}"))
        .await;
}
