//! The writer's connection breaks at each step of an append.

use conformance_suite::effort;
use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{Append, Appended, Error, EventStore};
use tokio::task::JoinHandle;

use crate::support::events::{head, positions, read, tag, tagged, unless};
use crate::support::postgres::proxy::{Cut, Proxy};
use crate::support::postgres::sql::{LogLock, Sql};
use crate::support::postgres::{connect, fresh_log};
use crate::support::wait::wait_until;

/// A log, a proxy, and a store that connects through the proxy and has appended once.
async fn through_a_proxy() -> (Config, Proxy, PostgresStore) {
    let log = fresh_log().await;
    let proxy = Proxy::start(&log.url).await;
    let mut through = log.clone();
    through.url = proxy.url().to_owned();
    let store = connect(&through).await;
    // Prepares the statement, so that each later append is one request.
    store.append(tagged("first")).await.unwrap();
    (log, proxy, store)
}

fn submit(store: &PostgresStore, append: Append) -> JoinHandle<Result<Appended, Error>> {
    let store = store.clone();
    tokio::spawn(async move { store.submit(append).await })
}

/// Asserts that the append succeeded and the log has it once, at the returned positions.
async fn assert_once(store: &PostgresStore, name: &str, answer: Result<Appended, Error>) {
    let appended = answer.unwrap_or_else(|error| panic!("{name}: {error}"));
    let acknowledged: Vec<u64> = appended.positions().map(dcb_core::Position::get).collect();
    assert_eq!(
        positions(&read(store, &tag(name)).await),
        acknowledged,
        "{name}"
    );
}

/// Both events have the tag that the condition excludes, so a second send would conflict with the
/// first.
fn append(name: &str) -> Append {
    Append::new([tagged(name), tagged(name)]).condition(unless(name))
}

#[tokio::test(flavor = "multi_thread")]
async fn append_on_a_breaking_connection_is_stored_once() {
    let (_log, proxy, store) = through_a_proxy().await;
    for round in 0..effort(20) {
        for cut in [Cut::BeforeRequest, Cut::AfterRequest, Cut::BeforeAnswer] {
            let name = format!("{cut:?} {round}");
            let lost = store.stats().lost_connections;
            proxy.cut(cut);
            let answer = store.submit(append(&name)).await;
            assert!(proxy.has_cut(), "{name}");
            assert_once(&store, &name, answer).await;
            assert_eq!(store.stats().lost_connections, lost + 1, "{name}");
            // Prepares the statement on the new connection.
            store.append(tagged("between")).await.unwrap();
        }
    }
    assert_eq!(head(&store).await, 1 + effort(20) as u64 * 9);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_on_a_breaking_connection_is_stored_once() {
    let (_log, proxy, store) = through_a_proxy().await;
    for cut in [Cut::BeforeRequest, Cut::AfterRequest, Cut::BeforeAnswer] {
        let name = |number| format!("{cut:?} {number}");
        proxy.cut(cut);
        let appends: Vec<_> = (0..50)
            .map(|number| submit(&store, append(&name(number))))
            .collect();
        for (number, append) in appends.into_iter().enumerate() {
            assert_once(&store, &name(number), append.await.unwrap()).await;
        }
        store.append(tagged("between")).await.unwrap();
    }
    assert_eq!(store.stats().lost_connections, 3);
    store.close().await;
}

/// The server process whose last statement was an append to this log.
async fn writer_process(log: &Config) -> i32 {
    let mut sql = Sql::connect(&log.url).await;
    let pid = sql
        .number(&format!(
            "SELECT pid FROM pg_stat_activity \
              WHERE pid <> pg_backend_pid() AND query LIKE '%\"{}\".append(%'",
            log.schema
        ))
        .await;
    sql.close().await;
    i32::try_from(pid).expect("a process id")
}

/// The abandoned server process waits for the log's lock and would commit once it gets the lock.
#[tokio::test(flavor = "multi_thread")]
async fn abandoned_server_process_commits_nothing() {
    let (log, proxy, store) = through_a_proxy().await;
    for round in 0..5 {
        let name = format!("round {round}");
        let mut lock = LogLock::take(&log).await;
        let cut_off = writer_process(&log).await;
        proxy.cut(Cut::AfterRequest);
        let appending = submit(&store, append(&name));
        wait_until("another server process waits", async || {
            let waiting = lock.waiting().await;
            waiting.iter().any(|pid| *pid != cut_off)
        })
        .await;
        assert!(proxy.has_cut());
        let waiting = lock.waiting().await;
        assert!(!waiting.contains(&cut_off), "process {cut_off} still waits");
        lock.release().await;
        assert_once(&store, &name, appending.await.unwrap()).await;
        store.append(tagged("between")).await.unwrap();
    }
    assert_eq!(head(&store).await, 1 + 5 * 3);
    store.close().await;
}

/// If only the answer was lost, the events are stored under the given ids.
#[tokio::test(flavor = "multi_thread")]
async fn append_with_given_ids_on_a_breaking_connection_is_stored_once() {
    let (_log, proxy, store) = through_a_proxy().await;
    for cut in [Cut::BeforeRequest, Cut::AfterRequest, Cut::BeforeAnswer] {
        let name = format!("{cut:?}");
        let event = tagged(&name).with_id(uuid::Uuid::now_v7());
        let append = Append::new(event).condition(unless(&name));
        proxy.cut(cut);
        let answer = store.submit(append.clone()).await;
        assert_once(&store, &name, answer).await;
        let again = store.submit(append).await;
        assert_once(&store, &name, again).await;
    }
    store.close().await;
}
