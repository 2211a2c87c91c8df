//! Appends inside the caller's own transaction, for example with an outbox or a read model.

use std::time::Duration;

use crate::support::events::{at, head, tag, tagged, unless, whole_log};
use crate::support::postgres::{connect, fresh_log};
use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{
    Append, AppendCondition, Command, Error, EventStore as _, Query, SubscribeOptions, Tracking,
};
use sqlx::{Connection as _, PgConnection};
use tokio::time::timeout;
use uuid::Uuid;

async fn log_and_session() -> (Config, PostgresStore, PgConnection) {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let session = PgConnection::connect(&log.url).await.unwrap();
    (log, store, session)
}

#[tokio::test(flavor = "multi_thread")]
async fn events_become_visible_on_commit() {
    let (log, store, mut session) = log_and_session().await;
    let outbox = format!("CREATE TABLE {}.outbox (position bigint)", log.schema);
    sqlx::raw_sql(sqlx::AssertSqlSafe(outbox))
        .execute(&mut session)
        .await
        .unwrap();
    let insert = format!("INSERT INTO {}.outbox VALUES ($1)", log.schema);
    for commits in [true, false, true] {
        let before = head(&store).await;
        let mut transaction = session.begin().await.unwrap();
        let command = Command::builder("Do").build().unwrap();
        let append = Append::new(vec![tagged("a"), tagged("b")])
            .command(command)
            .tracking(Tracking::new("upstream", before + 1).unwrap());
        let appended = store.submit_in(&mut transaction, append).await.unwrap();
        assert_eq!(appended.first().get(), before + 1);
        sqlx::query(sqlx::AssertSqlSafe(insert.clone()))
            .bind(appended.last().get() as i64)
            .execute(&mut *transaction)
            .await
            .unwrap();
        assert_eq!(head(&store).await, before, "invisible before the commit");
        if commits {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
        }
        assert_eq!(head(&store).await, before + if commits { 2 } else { 0 });
    }
    let rows = format!("SELECT count(*) FROM {}.outbox", log.schema);
    let rows: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(rows))
        .fetch_one(&mut session)
        .await
        .unwrap();
    let commands = store.commands(None, 10).await.unwrap();
    assert_eq!((rows, head(&store).await, commands.len()), (2, 4, 2));
    assert_eq!(store.tracked("upstream").await.unwrap(), Some(3));
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_append_leaves_the_transaction_usable() {
    let (_, store, mut session) = log_and_session().await;
    store.append(tagged("a")).await.unwrap();
    let mut transaction = session.begin().await.unwrap();
    let refused = Append::new(tagged("a")).condition(unless("a"));
    let refused = store.submit_in(&mut transaction, refused).await;
    assert!(
        matches!(refused, Err(Error::Conflict { position, .. }) if position == at(1)),
        "{refused:?}"
    );
    let beyond = AppendCondition::fail_if(tag("a")).after(at(9));
    let beyond = store
        .submit_in(&mut transaction, Append::new(tagged("a")).condition(beyond))
        .await;
    assert!(
        matches!(beyond, Err(Error::AfterBeyondHead { .. })),
        "{beyond:?}"
    );
    let invalid = store.submit_in(&mut transaction, Append::new([])).await;
    assert!(matches!(invalid, Err(Error::Invalid { .. })), "{invalid:?}");
    // Each append sees the earlier appends of the transaction.
    store
        .submit_in(
            &mut transaction,
            Append::new(tagged("b")).condition(unless("b")),
        )
        .await
        .unwrap();
    let again = Append::new(tagged("b")).condition(unless("b"));
    let again = store.submit_in(&mut transaction, again).await;
    assert!(
        matches!(again, Err(Error::Conflict { position, .. }) if position == at(2)),
        "{again:?}"
    );
    transaction.commit().await.unwrap();
    assert_eq!(head(&store).await, 2);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_ids_return_the_first_positions() {
    let (_, store, mut session) = log_and_session().await;
    let event = tagged("a").with_id(Uuid::now_v7());
    for round in 0..3 {
        let mut transaction = session.begin().await.unwrap();
        for _ in 0..2 {
            let appended = store
                .submit_in(&mut transaction, Append::new(event.clone()))
                .await;
            assert_eq!(appended.unwrap().first(), at(1), "in round {round}");
        }
        let other = tagged("other").with_id(event.id().unwrap());
        let other = store.submit_in(&mut transaction, Append::new(other)).await;
        assert!(matches!(other, Err(Error::DuplicateId { .. })), "{other:?}");
        transaction.commit().await.unwrap();
    }
    assert_eq!(store.append(event).await.unwrap().first(), at(1));
    assert_eq!(head(&store).await, 1);
    store.close().await;
}

/// The transaction holds the log's lock until it ends. Queued appends wait and then see its events.
#[tokio::test(flavor = "multi_thread")]
async fn other_appends_wait_for_the_transaction() {
    let (_, store, mut session) = log_and_session().await;
    let mut transaction = session.begin().await.unwrap();
    store
        .submit_in(&mut transaction, Append::new(tagged("a")))
        .await
        .unwrap();
    let waiting = {
        let store = store.clone();
        tokio::spawn(async move { store.append_if(tagged("a"), unless("a")).await })
    };
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!waiting.is_finished());
    transaction.commit().await.unwrap();
    let refused = waiting.await.unwrap();
    assert!(
        matches!(refused, Err(Error::Conflict { position, .. }) if position == at(1)),
        "{refused:?}"
    );
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_announces_the_append() {
    let (_, store, mut session) = log_and_session().await;
    let never = SubscribeOptions::new().poll_interval(Duration::from_secs(3600));
    let mut events = store.subscribe(Query::all(), None, never);
    store.append(tagged("first")).await.unwrap();
    events.next().await.unwrap().unwrap();
    // The store announces nothing until the subscription listens, so the test appends repeatedly.
    for _ in 0..100 {
        let mut transaction = session.begin().await.unwrap();
        let append = Append::new(tagged("a"));
        store.submit_in(&mut transaction, append).await.unwrap();
        transaction.commit().await.unwrap();
        if timeout(Duration::from_millis(200), events.next())
            .await
            .is_ok()
        {
            assert!(whole_log(&store).await.len() > 1);
            store.close().await;
            return;
        }
    }
    panic!("no append was announced");
}

#[tokio::test(flavor = "multi_thread")]
async fn stricter_isolation_is_refused() {
    let (_, store, mut session) = log_and_session().await;
    let mut transaction = session
        .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ")
        .await
        .unwrap();
    let refused = store
        .submit_in(&mut transaction, Append::new(tagged("a")))
        .await;
    assert!(
        matches!(&refused, Err(Error::Fault(fault)) if fault.code() == Some("25000")),
        "{refused:?}"
    );
    transaction.rollback().await.unwrap();
    assert_eq!(head(&store).await, 0);
    store.close().await;
}
