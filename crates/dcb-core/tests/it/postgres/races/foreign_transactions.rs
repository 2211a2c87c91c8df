//! Open transactions of other users of the server.

use dcb_core::postgres::PostgresStore;
use dcb_core::{Error, EventStore as _};

use crate::backends::foreign_transactions::{append, assert_nothing_is_hidden};
use crate::support::events::{at, head, positions, read, tag, tagged, unless};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log, server};

/// Starts a transaction that has an id and a snapshot.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id()";

#[tokio::test(flavor = "multi_thread")]
async fn open_transaction_in_another_database_hides_nothing() {
    let log = fresh_log().await;
    let elsewhere = server().await.create_database("elsewhere").await.unwrap();
    let mut foreign = Sql::connect(elsewhere.url()).await;
    foreign.run(BEGIN).await;
    assert_nothing_is_hidden::<PostgresStore>(&log).await;
    foreign.run("COMMIT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_transaction_with_writes_hides_nothing() {
    let log = fresh_log().await;
    let mut foreign = Sql::connect(&log.url).await;
    foreign.run(BEGIN).await;
    foreign
        .run("CREATE TABLE foreign_to_the_log (number int)")
        .await;
    assert_nothing_is_hidden::<PostgresStore>(&log).await;
    foreign.run("ROLLBACK").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_snapshot_of_the_log_hides_nothing() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(tagged("first")).await.unwrap();
    let mut foreign = Sql::connect(&log.url).await;
    foreign.run(BEGIN).await;
    let count = format!("SELECT count(*) FROM {}.event", log.schema);
    assert_eq!(foreign.number(&count).await, 1);
    assert_nothing_is_hidden::<PostgresStore>(&log).await;
    assert_eq!(
        foreign.number(&count).await,
        1,
        "the transaction keeps its snapshot"
    );
    foreign.run("COMMIT").await;
    store.close().await;
}

/// The order of events decides, not a clock: an append must return before the transaction ends.
#[tokio::test(flavor = "multi_thread")]
async fn appends_return_during_an_open_transaction() {
    let log = fresh_log().await;
    let (store, other) = (connect(&log).await, connect(&log).await);
    store.append(tagged("first")).await.unwrap();
    let mut foreign = Sql::connect(&log.url).await;
    foreign.run(BEGIN).await;
    let sleeper = tokio::spawn(async move { foreign.run("SELECT pg_sleep(2)").await });
    let mut rounds = 0;
    while !sleeper.is_finished() {
        let (name, before) = (format!("round {rounds}"), head(&store).await);
        let conflict = append(&store, &name).await;
        let answer = other
            .append_if(tagged("late"), unless(&name).after(at(before)))
            .await;
        assert!(
            matches!(&answer, Err(Error::Conflict { position, .. }) if position.get() == conflict),
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
