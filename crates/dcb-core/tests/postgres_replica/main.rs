//! Reads from a streaming replica. Where the binaries lack `pg_basebackup`, each test says so.

#[path = "../support/mod.rs"]
mod support;

use std::time::Duration;

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{AppendCondition, Error, EventStore as _, Query, ReadOptions, SubscribeOptions};
use local_postgres::{Durability, LocalPostgres};
use support::events::{at, positions, tag, tagged, whole_log};
use support::sql::Sql;
use support::{connect, log_on, server_of_its_own};

const PATIENCE: Duration = Duration::from_secs(20);

/// A server, a replica of it, and a log that is read there.
struct Pair {
    primary: LocalPostgres,
    replica: LocalPostgres,
    log: Config,
}

impl Pair {
    async fn start() -> Option<Self> {
        let primary = server_of_its_own(Durability::Durable, &[]).await;
        let replica = match primary.start_standby().await {
            Ok(replica) => replica,
            Err(error) if error.to_string().contains("pg_basebackup does not run") => {
                eprintln!("not tested: {error}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let log = log_on(primary.url()).replica_url(replica.url());
        Some(Self {
            primary,
            replica,
            log,
        })
    }

    /// Keeps the replica as it is, or lets it go on.
    async fn pause(&self, pause: bool) {
        let function = if pause { "pause" } else { "resume" };
        let mut sql = Sql::connect(self.replica.url()).await;
        sql.run(&format!("SELECT pg_wal_replay_{function}()")).await;
        while pause && sql.row("SELECT pg_get_wal_replay_pause_state()").await != ["paused"] {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        sql.close().await;
    }
}

async fn store_on(pair: &Pair) -> PostgresStore {
    let store = connect(&pair.log).await;
    let appended = store.append(tagged("first")).await.unwrap();
    // The schema, too, takes its time to get there.
    while store.wait_for(appended.last(), PATIENCE).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    store
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_go_to_the_replica_and_wait_for_what_was_written() {
    let Some(pair) = Pair::start().await else {
        return;
    };
    let store = store_on(&pair).await;
    for _ in 0..50 {
        let appended = store.append(tagged("a")).await.unwrap();
        let head = store.wait_for(appended.last(), PATIENCE).await.unwrap();
        assert!(head >= appended.last());
        let read = store.query(&tag("a"), ReadOptions::new()).await.unwrap();
        assert_eq!(read.events.last().unwrap().position(), appended.last());
    }
    pair.pause(true).await;
    let unseen = store.append(tagged("a")).await.unwrap().last();
    let limit = Duration::from_millis(50);
    let waited = store.wait_for(unseen, limit).await.unwrap_err();
    assert!(
        matches!(
            waited,
            Error::Timeout {
                operation: "wait",
                ..
            }
        ),
        "{waited:?}"
    );
    assert_eq!(
        store.head().await.unwrap(),
        Some(at(51)),
        "as old as the replica"
    );
    pair.pause(false).await;
    assert_eq!(store.wait_for(unseen, PATIENCE).await.unwrap(), unseen);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_over_an_old_state_is_a_conflict() {
    let Some(pair) = Pair::start().await else {
        return;
    };
    let store = store_on(&pair).await;
    pair.pause(true).await;
    let unseen = store.append(tagged("a")).await.unwrap().first();
    let old = store.query(&tag("a"), ReadOptions::new()).await.unwrap();
    assert_eq!((old.events.len(), old.head), (0, Some(at(1))));
    let condition = AppendCondition::fail_if(tag("a")).after(old.head);
    let refused = store.append_if(tagged("a"), condition).await.unwrap_err();
    assert!(
        matches!(refused, Error::Conflict { position } if position == unseen),
        "{refused:?}"
    );
    pair.pause(false).await;
    store.close().await;
}

/// What a caller knows from the primary is not beyond the head because the replica is behind.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_replica_lacks_is_read_from_the_primary() {
    let Some(pair) = Pair::start().await else {
        return;
    };
    let store = store_on(&pair).await;
    pair.pause(true).await;
    for _ in 0..3 {
        store.append(tagged("a")).await.unwrap();
    }
    let past = ReadOptions::new().after(at(3));
    let read = store.query(&Query::all(), past).await.unwrap();
    assert_eq!((positions(&read.events), read.head), (vec![4], Some(at(4))));
    let mut stream = store.query_stream(&Query::all(), past).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().position(), at(4));
    drop(stream);
    let beyond = store
        .query(&Query::all(), ReadOptions::new().after(at(5)))
        .await;
    assert!(
        matches!(beyond, Err(Error::AfterBeyondHead { .. })),
        "{beyond:?}"
    );
    pair.pause(false).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_to_a_lagging_replica_misses_nothing() {
    let Some(pair) = Pair::start().await else {
        return;
    };
    let store = store_on(&pair).await;
    let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
    let following = tokio::spawn(async move {
        let mut seen = Vec::new();
        while seen.len() < 121 {
            seen.push(events.next().await.expect("it goes on").unwrap());
        }
        seen
    });
    for round in 0..120 {
        if round % 40 == 10 {
            pair.pause(true).await;
        }
        if round % 40 == 30 {
            pair.pause(false).await;
        }
        store.append(tagged("a")).await.unwrap();
    }
    let seen = following.await.unwrap();
    let primary = connect(&Config::new(pair.primary.url()).schema(&pair.log.schema)).await;
    assert_eq!(seen, whole_log(&primary).await);
    primary.close().await;
    store.close().await;
}
