//! Reads from a streaming replica. Without `pg_basebackup`, the tests print a line and pass.

use std::time::Duration;

use crate::support::events::{at, head, positions, tag, tagged, whole_log};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on, private_server};
use crate::support::wait::wait_until;
use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{
    AppendCondition, Bookmark, Error, EventStore as _, Fault, Query, ReadOptions, SubscribeOptions,
};
use local_postgres::{Durability, LocalPostgres, SessionProxy};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

/// Longer than any step takes. Only a failing test waits this long.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A server and its replica.
struct Pair {
    primary: LocalPostgres,
    replica: LocalPostgres,
}

impl Pair {
    /// The pair of this process. One test uses it at a time, because pausing the replica affects all.
    /// `None` without `pg_basebackup`.
    async fn get() -> Option<MutexGuard<'static, Self>> {
        static PAIR: OnceCell<Option<Mutex<Pair>>> = OnceCell::const_new();
        let pair = PAIR.get_or_init(|| async { Self::start().await.map(Mutex::new) });
        let pair = unmet::need("pg_basebackup", pair.await.as_ref())?;
        let pair = pair.lock().await;
        // A failed test may have left the replica paused.
        pair.pause(false).await;
        Some(pair)
    }

    async fn start() -> Option<Self> {
        let primary = private_server(Durability::Durable, &[]).await;
        let replica = primary.start_standby().await.expect("a standby")?;
        Some(Self { primary, replica })
    }

    /// Settings for a new log that is read from the replica.
    fn new_log(&self) -> Config {
        log_on(self.primary.url()).replica_url(self.replica.url())
    }

    /// Pauses or resumes the replay on the replica.
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

/// A store with one event, which has reached the replica.
async fn store_on(log: &Config) -> PostgresStore {
    let store = connect(log).await;
    let appended = store.append(tagged("first")).await.unwrap();
    // The schema takes a while to reach the replica, and reads use the primary until then.
    while store.replicas_in_use() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    store.wait_for(appended.last(), TIMEOUT).await.unwrap();
    store
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_use_the_replica_and_wait_for_writes() {
    let Some(pair) = Pair::get().await else {
        return;
    };
    let store = store_on(&pair.new_log()).await;
    for _ in 0..50 {
        let appended = store.append(tagged("a")).await.unwrap();
        let head = store.wait_for(appended.last(), TIMEOUT).await.unwrap();
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
            Error::Fault(Fault::TimedOut {
                operation: "wait",
                ..
            })
        ),
        "{waited:?}"
    );
    assert_eq!(head(&store).await, 51, "the replica's head");
    pair.pause(false).await;
    assert_eq!(store.wait_for(unseen, TIMEOUT).await.unwrap(), unseen);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn decision_on_stale_replica_state_conflicts() {
    let Some(pair) = Pair::get().await else {
        return;
    };
    let store = store_on(&pair.new_log()).await;
    pair.pause(true).await;
    let unseen = store.append(tagged("a")).await.unwrap().first();
    let old = store.query(&tag("a"), ReadOptions::new()).await.unwrap();
    let head = Bookmark::position_of(old.head);
    assert_eq!((old.events.len(), head), (0, Some(at(1))));
    let condition = AppendCondition::fail_if(tag("a")).after(old.head);
    let refused = store.append_if(tagged("a"), condition).await.unwrap_err();
    assert!(
        matches!(refused, Error::Conflict { position, .. } if position == unseen),
        "{refused:?}"
    );
    pair.pause(false).await;
    store.close().await;
}

/// A position that the caller knows from the primary is not beyond the head, although the replica
/// lags behind.
#[tokio::test(flavor = "multi_thread")]
async fn read_past_the_replica_head_goes_to_the_primary() {
    let Some(pair) = Pair::get().await else {
        return;
    };
    let store = store_on(&pair.new_log()).await;
    pair.pause(true).await;
    for _ in 0..3 {
        store.append(tagged("a")).await.unwrap();
    }
    let past = ReadOptions::new().after(at(3));
    let read = store.query(&Query::all(), past).await.unwrap();
    let head = Bookmark::position_of(read.head);
    assert_eq!((positions(&read.events), head), (vec![4], Some(at(4))));
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
async fn subscription_to_a_lagging_replica_misses_no_event() {
    let Some(pair) = Pair::get().await else {
        return;
    };
    let log = pair.new_log();
    let store = store_on(&log).await;
    let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
    let following = tokio::spawn(async move {
        let mut seen = Vec::new();
        while seen.len() < 121 {
            seen.push(
                events
                    .next()
                    .await
                    .expect("the subscription goes on")
                    .unwrap(),
            );
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
    let primary = connect(&Config::new(pair.primary.url()).schema(&log.schema)).await;
    assert_eq!(seen, whole_log(&primary).await);
    primary.close().await;
    store.close().await;
}

/// The events of the rest are those of the primary, which has the same.
#[tokio::test(flavor = "multi_thread")]
async fn stream_goes_on_when_its_replica_falls_silent() {
    let Some(pair) = Pair::get().await else {
        return;
    };
    let proxy = SessionProxy::start(pair.replica.url()).await;
    let mut log = pair.new_log();
    log.replica_url = Some(proxy.url().to_owned());
    let store = connect(&log).await;
    for _ in 0..40 {
        store.append(vec![tagged("a"); 500]).await.unwrap();
    }
    wait_until("the replica is in use", async || {
        store.replicas_in_use() == 1
    })
    .await;
    let last = at(20_000);
    store.wait_for(last, TIMEOUT).await.unwrap();
    let all = ReadOptions::new();
    let mut stream = store.query_stream(&Query::all(), all).await.unwrap();
    assert_eq!(Bookmark::position_of(stream.head()), Some(last));
    for number in 1..=300 {
        assert_eq!(stream.next().await.unwrap().unwrap().position(), at(number));
    }
    proxy.silence_new(true);
    proxy.silence();
    let rest = async {
        for number in 301..=last.get() {
            assert_eq!(stream.next().await.unwrap().unwrap().position(), at(number));
        }
        assert!(stream.next().await.is_none());
    };
    tokio::time::timeout(TIMEOUT, rest).await.expect("the rest");
    store.close().await;
}
