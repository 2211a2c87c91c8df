//! Subscriptions deliver each event once and in order, even if servers and connections die.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use conformance_suite::effort;
use dcb_core::postgres::PostgresStore;
use dcb_core::{Error, EventStore as _, Fault, Query, SequencedEvent, SubscribeOptions};
use local_postgres::Durability;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::take;
use crate::support::events::{at, tag, tagged, whole_log};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on, private_server, server};
use crate::support::wait::wait_until;

/// Appends until stopped. Failed appends are ignored.
struct Appending {
    stop: Arc<AtomicBool>,
    appended: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Appending {
    fn start(store: &PostgresStore) -> Self {
        let (stop, appended) = (Arc::default(), Arc::default());
        let (store, stopped, count) = (store.clone(), Arc::clone(&stop), Arc::clone(&appended));
        let task = tokio::spawn(async move {
            let mut names = ["a", "b"].iter().cycle();
            while !AtomicBool::load(&stopped, Ordering::SeqCst) {
                let name = names.next().expect("a cycle has no end");
                if store.append(tagged(name)).await.is_ok() {
                    AtomicU64::fetch_add(&count, 1, Ordering::SeqCst);
                } else {
                    sleep(Duration::from_millis(2)).await;
                }
            }
        });
        Self {
            stop,
            appended,
            task,
        }
    }

    async fn wait_for(&self, appends: u64) {
        let enough = self.appended.load(Ordering::SeqCst) + appends;
        wait_until("appends are acknowledged", async || {
            self.appended.load(Ordering::SeqCst) >= enough
        })
        .await;
    }

    async fn stop(self) {
        self.stop.store(true, Ordering::SeqCst);
        self.task.await.unwrap();
    }
}

/// Collects events up to the one with the tag `last`, which is left out.
async fn until_last(store: &PostgresStore, query: Query) -> Vec<SequencedEvent> {
    let options = SubscribeOptions::new().batch_size(64);
    let mut events = store.subscribe(query.or(tag("last")), None, options);
    let mut seen = Vec::new();
    loop {
        let event = take(&mut events, 1).await.remove(0);
        if event.has_tag("last") {
            return seen;
        }
        seen.push(event);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn subscription_across_killed_servers_misses_no_event() {
    let server = private_server(Durability::Durable, &[]).await;
    let log = log_on(server.url());
    let (writer, reader) = (connect(&log).await, connect(&log).await);
    let subscribers = [Query::all(), tag("a")].map(|query| {
        let (writer, reader) = (writer.clone(), reader.clone());
        // One subscriber uses the store that appends. The other learns of appends only from the
        // server.
        let subscribers = [writer, reader].map(|store| {
            let query = query.clone();
            tokio::spawn(async move { until_last(&store, query).await })
        });
        (query, subscribers)
    });
    let appending = Appending::start(&writer);
    for _ in 0..effort(2) {
        appending.wait_for(20).await;
        server.kill_hard().unwrap();
        sleep(Duration::from_millis(50)).await;
        server.restart().await.unwrap();
    }
    appending.wait_for(20).await;
    appending.stop().await;
    writer.append(tagged("last")).await.unwrap();
    let mut log = whole_log(&writer).await;
    log.pop();
    for (query, subscribers) in subscribers {
        let expected: Vec<_> = log
            .iter()
            .filter(|event| query.matches(event))
            .cloned()
            .collect();
        for subscriber in subscribers {
            assert_eq!(subscriber.await.unwrap(), expected, "{query:?}");
        }
    }
    writer.close().await;
    reader.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn subscription_across_terminated_sessions_misses_no_event() {
    let database = server().await.create_database("ended").await.unwrap();
    let log = log_on(database.url());
    let (writer, reader) = (connect(&log).await, connect(&log).await);
    let mut sql = Sql::connect(database.url()).await;
    let subscriber = {
        let reader = reader.clone();
        tokio::spawn(async move { until_last(&reader, tag("a")).await })
    };
    let appending = Appending::start(&writer);
    for _ in 0..effort(20) {
        appending.wait_for(10).await;
        sql.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
              WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
    }
    appending.stop().await;
    writer.append(tagged("last")).await.unwrap();
    let mut expected = whole_log(&writer).await;
    expected.retain(|event| event.has_tag("a"));
    assert_eq!(subscriber.await.unwrap(), expected);
    writer.close().await;
    reader.close().await;
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_server_shows_as_an_outage() {
    let server = private_server(Durability::Durable, &[]).await;
    let mut log = log_on(server.url());
    log.read_timeout = Duration::from_millis(500);
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
    let progress = events.progress();
    take(&mut events, 1).await;
    assert!(progress.outage().is_none());
    let following = tokio::spawn(async move { take(&mut events, 1).await });
    server.kill_hard().unwrap();
    wait_until("the outage shows", async || {
        matches!(
            progress.outage(),
            Some(Error::Fault(Fault::Unreachable(_)) | Error::Fault(Fault::TimedOut { .. }))
        )
    })
    .await;
    server.restart().await.unwrap();
    store.append(tagged("b")).await.unwrap();
    assert_eq!(following.await.unwrap()[0].position(), at(2));
    wait_until("the outage is over", async || progress.outage().is_none()).await;
    store.close().await;
}

/// A log can become shorter, for example by a failover to a server that lacks the last events.
#[tokio::test(flavor = "multi_thread")]
async fn shortened_log_ends_the_subscription() {
    let database = server().await.create_database("shortened").await.unwrap();
    let log = log_on(database.url());
    let store = connect(&log).await;
    for _ in 0..5 {
        store.append(tagged("a")).await.unwrap();
    }
    let mut events = store.subscribe(tag("a"), None, SubscribeOptions::new());
    take(&mut events, 5).await;
    let mut sql = Sql::connect(database.url()).await;
    let schema = &log.schema;
    sql.run(&format!(
        "DELETE FROM {schema}.event_tag WHERE position > 3; \
         DELETE FROM {schema}.event WHERE position > 3"
    ))
    .await;
    let ended = events
        .next()
        .await
        .expect("the subscription returns its error");
    assert!(
        matches!(ended, Err(Error::AfterBeyondHead { after, head }) if (after, head) == (at(5), Some(at(3)))),
        "{ended:?}"
    );
    assert!(events.next().await.is_none());
    store.close().await;
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_store_ends_the_subscription() {
    let store = crate::support::postgres::fresh_store().await;
    let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
    let waiting = tokio::spawn(async move { (events.next().await, events.next().await.is_none()) });
    sleep(Duration::from_millis(20)).await;
    store.close().await;
    let (ended, is_over) = waiting.await.unwrap();
    assert!(
        matches!(ended, Some(Err(Error::Fault(Fault::Closed)))),
        "{ended:?}"
    );
    assert!(is_over);
}
