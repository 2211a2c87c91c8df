//! Requests that share a commit.
//!
//! The test holds the log's lock, so that the first append waits in the server and those that come
//! meanwhile are the next batch.

use std::time::Duration;

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{Append, Appended, Error, EventStore, Tracking};
use local_postgres::Durability;
use tokio::task::JoinHandle;

use crate::support::events::{event, head, positions, read, tag, tagged, unless, whole_log};
use crate::support::sql::{LogLock, Sql};
use crate::support::wait::{wait_for_queued, wait_until};
use crate::support::{connect, fresh_log, log_on, server_of_its_own};

type Answer = Result<Appended, Error>;

/// A log whose appends may wait as long as it takes to make a batch of many.
async fn patient_log() -> Config {
    let mut log = fresh_log().await;
    log.append_timeout = Duration::from_secs(60);
    log
}

fn submit(store: &PostgresStore, append: Append) -> JoinHandle<Answer> {
    let store = store.clone();
    tokio::spawn(async move { store.submit(append).await })
}

/// Answers of appends that were in one batch, in this order.
async fn in_one_batch(
    store: &PostgresStore,
    mut lock: LogLock,
    appends: impl IntoIterator<Item = Append>,
) -> Vec<Answer> {
    let ahead = submit(store, Append::new(tagged("ahead of the batch")));
    lock.wait_for_a_waiter().await;
    let mut tasks = Vec::new();
    for append in appends {
        tasks.push(submit(store, append));
        wait_for_queued(store, tasks.len()).await;
    }
    lock.release().await;
    ahead.await.unwrap().unwrap();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    answers
}

fn first(answer: &Answer) -> u64 {
    answer.as_ref().unwrap().first().get()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_one_condition_the_first_request_wins() {
    let log = patient_log().await;
    let store = connect(&log).await;
    let seat = || Append::new(tagged("seat")).condition(unless("seat"));
    let lock = LogLock::take(&log).await;
    let answers = in_one_batch(&store, lock, (0..100).map(|_| seat())).await;
    let winner = first(&answers[0]);
    for loser in &answers[1..] {
        assert!(
            matches!(loser, Err(Error::Conflict { position }) if position.get() == winner),
            "{loser:?}"
        );
    }
    assert_eq!(positions(&read(&store, &tag("seat")).await), [winner]);
    let stats = store.stats();
    assert_eq!((stats.commits, stats.largest_batch), (2, 100), "{stats:?}");
    assert_eq!(stats.conflicts, 99);
    store.close().await;
}

/// The request that stands against it in the batch is refused itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_request_goes_ahead_if_what_held_it_was_refused() {
    let log = patient_log().await;
    let store = connect(&log).await;
    store.append(tagged("taken")).await.unwrap();
    let refused = Append::new(tagged("seat")).condition(unless("taken"));
    let held = Append::new(tagged("seat")).condition(unless("seat"));
    let lock = LogLock::take(&log).await;
    let answers = in_one_batch(&store, lock, [refused, held]).await;
    assert!(matches!(&answers[0], Err(Error::Conflict { position }) if position.get() == 1));
    assert_eq!(first(&answers[1]), 3, "{answers:?}");
    store.close().await;
}

/// The conflict is in the log, and not in the batch, for a request that meets both.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_request_is_told_the_first_conflict() {
    let log = patient_log().await;
    let store = connect(&log).await;
    store.append(tagged("seat")).await.unwrap();
    let lock = LogLock::take(&log).await;
    let appends = [
        Append::new(tagged("seat")),
        Append::new(tagged("seat")).condition(unless("seat")),
    ];
    let answers = in_one_batch(&store, lock, appends).await;
    assert_eq!(first(&answers[0]), 3);
    assert!(matches!(&answers[1], Err(Error::Conflict { position }) if position.get() == 1));
    store.close().await;
}

/// The data error is one that only the database can see.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_at_fault_fails_alone() {
    let log = patient_log().await;
    let store = connect(&log).await;
    let schema = &log.schema;
    let mut sql = Sql::connect(&log.url).await;
    sql.run(&format!(
        "CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN RAISE 'poison' USING ERRCODE = '22023'; END $$; \
         CREATE TRIGGER poison BEFORE INSERT ON {schema}.event FOR EACH ROW \
         WHEN (NEW.type = 'Poison') EXECUTE FUNCTION {schema}.refuse()"
    ))
    .await;
    for at_fault in [0, 37, 99] {
        let before = head(&store).await + 1;
        let append = |number| match number == at_fault {
            true => Append::new([event("Poison", &[]), event("Happened", &[])]),
            false => Append::new([event("Happened", &[]), event("Happened", &[])]),
        };
        let lock = LogLock::take(&log).await;
        let answers = in_one_batch(&store, lock, (0..100).map(append)).await;
        let mut expected = before + 1;
        for (number, answer) in answers.iter().enumerate() {
            if number == at_fault {
                assert!(
                    matches!(answer, Err(Error::Database { code: Some(code), .. }) if &**code == "22023"),
                    "{answer:?}"
                );
            } else {
                assert_eq!(first(answer), expected, "of number {number}");
                expected += 2;
            }
        }
        assert_eq!(head(&store).await + 1, expected);
    }
    assert_eq!(store.stats().largest_batch, 100);
    let log = positions(&whole_log(&store).await);
    assert_eq!(log, (1..=log.len() as u64).collect::<Vec<_>>());
    sql.close().await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_appends_share_commits() {
    let store = connect(&patient_log().await).await;
    let tasks: Vec<_> = (0..2000)
        .map(|_| submit(&store, Append::new(tagged("a"))))
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let stats = store.stats();
    assert_eq!((stats.appends, stats.events), (2000, 2000));
    assert!(stats.commits < 500, "{stats:?}");
    store.close().await;
}

/// The transactions that a store with so many lone appends takes, its start and end included.
async fn transactions(url: &str, appends: usize) -> i64 {
    let mut sql = Sql::connect(url).await;
    let name = format!("after_{appends}_appends");
    sql.run(&format!("CREATE DATABASE {name}")).await;
    let (server, _) = url.rsplit_once('/').expect("a database");
    let store = connect(&log_on(&format!("{server}/{name}"))).await;
    for number in 0..appends {
        let condition = unless("other");
        let answer = store
            .append_if(tagged(&format!("{number}")), condition)
            .await;
        answer.unwrap();
    }
    assert_eq!(store.stats().commits, appends as u64);
    store.close().await;
    let backends = format!("SELECT numbackends FROM pg_stat_database WHERE datname = '{name}'");
    // A session's counters are complete when it has ended.
    wait_until("the store's sessions have ended", async || {
        sql.number(&backends).await == 0
    })
    .await;
    let counted = sql
        .number(&format!(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '{name}'"
        ))
        .await;
    sql.close().await;
    counted
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lone_append_takes_one_transaction() {
    let server = server_of_its_own(Durability::Relaxed, &[("autovacuum", "off")]).await;
    // Each statement was prepared by then, also that of a writer which nobody disturbed for a while.
    let few = transactions(server.url(), 40).await;
    let more = transactions(server.url(), 70).await;
    assert_eq!(more - few, 30);
}

/// The tracking of a held request was stored with the batch that it was only checked in: of the
/// same source twice, which failed the batch, or without the events that it belongs to.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_request_tracks_nothing() {
    let log = patient_log().await;
    let store = connect(&log).await;
    let tracked = |tag: &str, source: &str, position| {
        Append::new(tagged(tag)).tracking(Tracking::new(source, position).unwrap())
    };
    let appends = [
        tracked("seat", "one", 1),
        tracked("other", "one", 1),
        tracked("seat", "two", 1).condition(unless("seat")),
    ];
    let lock = LogLock::take(&log).await;
    let answers = in_one_batch(&store, lock, appends).await;
    assert_eq!(first(&answers[0]), 2);
    assert!(
        matches!(&answers[1], Err(Error::AlreadyTracked { tracked: 1, .. })),
        "{answers:?}"
    );
    assert!(matches!(&answers[2], Err(Error::Conflict { position }) if position.get() == 2));
    assert_eq!(store.tracked("one").await.unwrap(), Some(1));
    assert_eq!(store.tracked("two").await.unwrap(), None);
    store.close().await;
}
