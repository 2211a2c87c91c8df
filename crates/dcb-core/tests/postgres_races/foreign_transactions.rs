//! Transactions that have nothing to do with the log.

use std::sync::Arc;

use dcb_core::conformance::CALLERS;
use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{Error, EventStore, ReadOptions};
use tokio::sync::Barrier;

use crate::support::events::{at, head, positions, read, tag, tagged, unless};
use crate::support::sql::Sql;
use crate::support::{connect, fresh_log, server};

/// A transaction with an id and a snapshot.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id()";

/// Each caller is refused because of the event that was just committed.
async fn assert_conflict(store: &PostgresStore, callers: usize, name: &str, before: u64) {
    let conflict = append(store, name).await;
    let barrier = Arc::new(Barrier::new(callers));
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (store, barrier) = (store.clone(), Arc::clone(&barrier));
            let condition = unless(name).after(at(before));
            tokio::spawn(async move {
                barrier.wait().await;
                store.append_if(tagged("late"), condition).await
            })
        })
        .collect();
    for task in tasks {
        let answer = task.await.unwrap();
        assert!(
            matches!(&answer, Err(Error::Conflict { position }) if position.get() == conflict),
            "{answer:?} instead of a conflict at {conflict}"
        );
    }
    let page = store
        .query(&tag(name), ReadOptions::new().after(at(before)))
        .await
        .unwrap();
    assert_eq!(positions(&page.events), [conflict]);
}

async fn append(store: &PostgresStore, name: &str) -> u64 {
    store.append(tagged(name)).await.unwrap().first().get()
}

/// Whatever was committed conflicts, while the foreign transaction is open.
async fn assert_nothing_is_hidden(log: &Config) {
    let store = connect(log).await;
    store.append(tagged("first")).await.unwrap();
    for callers in CALLERS {
        let before = head(&store).await;
        assert_conflict(&store, callers, &format!("of {callers}"), before).await;
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_in_another_database_hides_nothing() {
    let log = fresh_log().await;
    let elsewhere = server().await.create_database("elsewhere").await.unwrap();
    let mut foreign = Sql::connect(elsewhere.url()).await;
    foreign.run(BEGIN).await;
    assert_nothing_is_hidden(&log).await;
    foreign.run("COMMIT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_wrote_in_the_same_database_hides_nothing() {
    let log = fresh_log().await;
    let mut foreign = Sql::connect(&log.url).await;
    foreign.run(BEGIN).await;
    foreign
        .run("CREATE TABLE foreign_to_the_log (number int)")
        .await;
    assert_nothing_is_hidden(&log).await;
    foreign.run("ROLLBACK").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_read_the_log_hides_nothing() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(tagged("first")).await.unwrap();
    let mut foreign = Sql::connect(&log.url).await;
    foreign.run(BEGIN).await;
    let count = format!("SELECT count(*) FROM {}.event", log.schema);
    assert_eq!(foreign.number(&count).await, 1);
    assert_nothing_is_hidden(&log).await;
    assert_eq!(foreign.number(&count).await, 1, "it stays on its snapshot");
    foreign.run("COMMIT").await;
    store.close().await;
}

/// For 5 seconds, told by the order in which things end and not by a clock.
#[tokio::test(flavor = "multi_thread")]
async fn appends_return_while_it_is_open() {
    let log = fresh_log().await;
    let (store, other) = (connect(&log).await, connect(&log).await);
    store.append(tagged("first")).await.unwrap();
    let mut foreign = Sql::connect(&log.url).await;
    foreign.run(BEGIN).await;
    let sleeper = tokio::spawn(async move { foreign.run("SELECT pg_sleep(5)").await });
    let mut rounds = 0;
    while !sleeper.is_finished() {
        let (name, before) = (format!("round {rounds}"), head(&store).await);
        let conflict = append(&store, &name).await;
        let answer = other
            .append_if(tagged("late"), unless(&name).after(at(before)))
            .await;
        assert!(
            matches!(&answer, Err(Error::Conflict { position }) if position.get() == conflict),
            "{answer:?}"
        );
        assert_eq!(positions(&read(&other, &tag(&name)).await), [conflict]);
        rounds += u32::from(!sleeper.is_finished());
    }
    assert!(
        rounds > 0,
        "no append returned before the transaction ended"
    );
    sleeper.await.unwrap();
    store.close().await;
    other.close().await;
}
