//! The recorded metrics of the stores are those of the table in README.md.

use std::time::Duration;

use dcb_core::postgres::PostgresStore;
use dcb_core::sqlite::SqliteStore;
use dcb_core::{
    AppendCondition, DecisionModel, Error, Event, EventStore, MemoryStore, Projector, Query,
    ReadOptions, SubscribeOptions,
};
use local_postgres::Durability;
use store_meter::testing::{Recorded, Recording, documented};
use tokio::time::timeout;

use crate::support::backend::SharedStore;
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on, private_server};

/// The names, kinds and labels that are recorded are those of the table of stores.
fn assert_as_documented(recorded: &Recorded, backend: &str) {
    let mut table = documented(include_str!("../../README.md"), "dcb");
    table.retain(|(name, ..)| !name.starts_with("dcb_projection"));
    assert_eq!(recorded.rows(&["backend", "log"]), table);
    assert_eq!(recorded.values_of("backend"), [backend].into());
}

fn event() -> Event {
    Event::builder("Enrolled")
        .tag("course_id:c1")
        .build()
        .unwrap()
}

fn course() -> Query {
    Query::builder().tag("course_id:c1").build().unwrap()
}

/// Two appends, a conflict, a decision with events and one without, a read, and a subscription.
async fn work<S: EventStore + Clone + 'static>(store: &S) {
    store.append(vec![event(), event()]).await.unwrap();
    store.append(event()).await.unwrap();
    let unseen = AppendCondition::fail_if(course());
    let conflict = store.append_if(event(), unseen).await;
    assert!(matches!(conflict, Err(Error::Conflict { .. })));
    let model = DecisionModel::new(Projector::counter(course()));
    for events in [vec![event()], Vec::new()] {
        let decided = model.decide(store, |_| Ok::<_, Error>(events.clone()));
        decided.await.unwrap();
    }
    store.query(&course(), ReadOptions::new()).await.unwrap();
    let mut events = store.subscribe(course(), None, SubscribeOptions::new());
    for _ in 0..4 {
        events.next().await.unwrap().unwrap();
    }
    // The fifth does not come, so the subscription waits.
    let fifth = timeout(Duration::from_millis(100), events.next()).await;
    assert!(fifth.is_err());
}

fn assert_work_is_counted(recorded: &Recorded) {
    for (name, outcome, wanted) in [
        ("dcb_appends_total", Some("committed"), 3.0),
        ("dcb_appends_total", Some("conflict"), 1.0),
        ("dcb_appends_total", Some("unknown"), 0.0),
        ("dcb_appends_waiting", None, 0.0),
        ("dcb_events_appended_total", None, 4.0),
        ("dcb_decisions_total", Some("appended"), 1.0),
        ("dcb_decisions_total", Some("unchanged"), 1.0),
        ("dcb_decision_retries_total", None, 0.0),
        ("dcb_lane_members", None, 0.0),
        ("dcb_followers", None, 0.0),
        ("dcb_follower_lag_positions", None, 0.0),
        ("dcb_follower_retries_total", None, 0.0),
    ] {
        let label = outcome.map(|outcome| ("outcome", outcome));
        assert_eq!(recorded.number(name, label), wanted, "{name} {outcome:?}");
    }
    for name in ["dcb_follower_waits_total", "dcb_read_seconds"] {
        assert!(recorded.number(name, None) > 0.0, "{name}");
    }
}

fn assert_queue_and_pool_are_measured(recorded: &Recorded) {
    for name in [
        "dcb_queue_seconds",
        "dcb_commit_seconds",
        "dcb_commit_requests",
    ] {
        assert_eq!(recorded.number(name, None), 4.0, "{name}");
    }
    for name in [
        "dcb_commit_events",
        "dcb_pool_wait_seconds",
        "dcb_pool_connections",
        "dcb_pool_connections_opened_total",
    ] {
        assert!(recorded.number(name, None) > 0.0, "{name}");
    }
}

#[tokio::test]
async fn a_store_in_memory_records_what_the_readme_says() {
    let (store, recording) = Recording::of(async { MemoryStore::new() }).await;
    work(&store).await;
    let recorded = recording.look();
    assert_as_documented(&recorded, "memory");
    assert_work_is_counted(&recorded);
}

async fn records_what_the_readme_says<S: SharedStore>(backend: &str, log_name: &str) {
    let log = S::fresh_log().await;
    let (store, recording) = Recording::of(S::connect(&log)).await;
    work(&store).await;
    let recorded = recording.look();
    assert_as_documented(&recorded, backend);
    assert_work_is_counted(&recorded);
    assert_queue_and_pool_are_measured(&recorded);
    let logs = recorded.values_of("log");
    assert!(
        logs.len() == 1 && logs.iter().all(|log| log.contains(log_name)),
        "{logs:?}"
    );
    // The subscription that was dropped may still have held a connection at the first look.
    let in_use = |recorded: &Recorded| recorded.number("dcb_pool_connections_in_use", None);
    store.close().await;
    assert_eq!(in_use(&recorded) + in_use(&recording.look()), 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_sqlite_records_what_the_readme_says() {
    records_what_the_readme_says::<SqliteStore>("sqlite", ".db").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_postgresql_records_what_the_readme_says() {
    records_what_the_readme_says::<PostgresStore>("postgres", "log_").await;
}

/// The server ends all sessions: that of the writer, and those of the readers.
#[tokio::test(flavor = "multi_thread")]
async fn lost_connections_are_counted() {
    let server = private_server(Durability::Relaxed, &[]).await;
    let log = log_on(server.url());
    let (store, recording) = Recording::of(connect(&log)).await;
    for _ in 0..2 {
        store.append(event()).await.unwrap();
        store.query(&course(), ReadOptions::new()).await.unwrap();
        let mut sql = Sql::connect(server.url()).await;
        sql.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
        )
        .await;
        sql.close().await;
    }
    store.append(event()).await.unwrap();
    let recorded = recording.look();
    for name in [
        "dcb_writer_connections_lost_total",
        "dcb_pool_connections_lost_total",
    ] {
        assert!(recorded.number(name, None) > 0.0, "{name}");
    }
    let committed = Some(("outcome", "committed"));
    assert_eq!(recorded.number("dcb_appends_total", committed), 3.0);
    store.close().await;
}

/// The lag of a subscription counts until it is read, and leaves the sum when the subscription ends.
#[tokio::test]
async fn the_lag_is_the_sum_of_all_followers() {
    let (store, recording) = Recording::of(async { MemoryStore::new() }).await;
    store.append(vec![event(), event(), event()]).await.unwrap();
    let mut two = [(); 2].map(|()| store.subscribe(course(), None, SubscribeOptions::new()));
    for events in &mut two {
        events.next().await.unwrap().unwrap();
    }
    let (lag, followers) = ("dcb_follower_lag_positions", "dcb_followers");
    let now = recording.look();
    assert_eq!(now.number(followers, None), 2.0);
    assert_eq!(now.number(lag, None), 4.0);
    drop(two);
    // Reading the recorder has set the gauges back to 0.
    let change = recording.look();
    assert_eq!(change.number(followers, None), -2.0);
    assert_eq!(change.number(lag, None), -4.0);
}
