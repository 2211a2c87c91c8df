//! Short reads that get no answer: a lost connection, a silent server, no connection, no time, a closed store.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use dcb_core::{Error, EventStore as _, Fault, Query, ReadOptions};
use futures_util::future::{Either, join_all, join3, select};
use tokio::time::{sleep, timeout};

use super::short_ranges::{MANY, expected, queried, queries, seats};
use super::short_reads::{locked, poll_once, ranges, reader, reads, wait_for_a_read};
use crate::support::events::whole_log;
use crate::support::postgres::proxy::{Cut, Proxy};
use crate::support::postgres::{connect, fresh_log};

#[tokio::test(flavor = "multi_thread")]
async fn lost_connection_costs_shared_reads_no_answer() {
    for cut in [Cut::BeforeRequest, Cut::AfterRequest, Cut::BeforeAnswer] {
        let log = fresh_log().await;
        let proxy = Proxy::start(&log.url).await;
        let mut through = log.clone();
        through.url = proxy.url().to_owned();
        let store = Arc::new(reader(&through).await);
        let all = whole_log(&store).await;
        let mut locker = locked(&log).await;
        let asked: Vec<_> = reads()
            .into_iter()
            .map(|(query, options)| {
                let store = Arc::clone(&store);
                tokio::spawn(async move {
                    let answer = queried(&store, &query, options).await;
                    (query, options, answer)
                })
            })
            .collect();
        wait_for_a_read(&log).await;
        // The first read has the connection. Two callers wait for each further statement.
        proxy.cut(cut);
        locker.run("COMMIT").await;
        for done in join_all(asked).await {
            let (query, options, answer) = done.unwrap();
            assert_eq!(answer, expected(&query, &all, options), "{query:?} {cut:?}");
        }
        assert!(proxy.has_cut());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_reads_of_a_silent_server_time_out() {
    let log = fresh_log().await;
    connect(&log).await.append(seats(MANY)).await.unwrap();
    let mut hurried = log.clone();
    hurried.read_connections = 1;
    hurried.read_timeout = Duration::from_secs(1);
    let store = connect(&hurried).await;
    store.head().await.unwrap();
    let mut locker = locked(&log).await;
    let reads = reads();
    let before = store.stats().reads;
    let answers = reads
        .iter()
        .map(|(query, options)| store.query(query, *options));
    for answer in join_all(answers).await {
        let error = answer.unwrap_err();
        assert!(
            matches!(error, Error::Fault(Fault::TimedOut { .. })),
            "{error}"
        );
    }
    let statements = store.stats().reads - before;
    assert!(statements as usize <= reads.len(), "no read is sent twice");
    locker.run("COMMIT").await;
    for (query, options) in &reads {
        store.query(query, *options).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_reads_end_when_the_store_is_closed() {
    let log = fresh_log().await;
    let store = Arc::new(reader(&log).await);
    let mut locker = locked(&log).await;
    let asked: Vec<_> = reads()
        .into_iter()
        .map(|(query, options)| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.query(&query, options).await })
        })
        .collect();
    wait_for_a_read(&log).await;
    let closing = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.close().await }
    });
    sleep(Duration::from_millis(50)).await;
    locker.run("COMMIT").await;
    for done in join_all(asked).await {
        if let Err(error) = done.unwrap() {
            assert!(matches!(error, Error::Fault(Fault::Closed)), "{error}");
        }
    }
    closing.await.unwrap();
}

/// The first of identical reads is not polled, because its caller does something else first.
#[tokio::test(flavor = "multi_thread")]
async fn unpolled_read_delays_no_other() {
    let log = fresh_log().await;
    let store = reader(&log).await;
    let all = whole_log(&store).await;
    let [query, other, ..] = queries();
    let [options, ..] = ranges();
    let mut locker = locked(&log).await;
    let mut running = pin!(queried(&store, &other, options));
    assert!(poll_once(running.as_mut()).await.is_none());
    let mut unpolled = pin!(queried(&store, &query, options));
    assert!(poll_once(unpolled.as_mut()).await.is_none());
    let behind = [&query, &other].map(|query| queried(&store, query, options));
    let (behind, running, ()) = join3(join_all(behind), running, locker.run("COMMIT")).await;
    let [expected, of_other] = [&query, &other].map(|query| expected(query, &all, options));
    assert_eq!(behind, [expected.clone(), of_other.clone()]);
    assert_eq!(running, of_other);
    assert_eq!(unpolled.await, expected);
}

/// A read that waits for a lock has the only connection.
#[tokio::test(flavor = "multi_thread")]
async fn read_without_a_connection_times_out() {
    let log = fresh_log().await;
    connect(&log).await.append(seats(MANY)).await.unwrap();
    let mut hurried = log.clone();
    hurried.read_connections = 1;
    hurried.read_timeout = Duration::from_secs(1);
    let store = connect(&hurried).await;
    store.head().await.unwrap();
    let mut locker = locked(&log).await;
    let all = Query::all();
    let mut blocked = pin!(store.query(&all, ReadOptions::new()));
    assert!(poll_once(blocked.as_mut()).await.is_none());
    let query = Query::all();
    let [options, ..] = ranges();
    let mut unpolled = pin!(store.query(&query, options));
    assert!(poll_once(unpolled.as_mut()).await.is_none());
    let behind = store.query(&query, options);
    let answer = timeout(Duration::from_secs(60), behind).await;
    let error = answer.expect("the read ends").unwrap_err();
    assert!(
        matches!(error, Error::Fault(Fault::TimedOut { .. })),
        "{error}"
    );
    for held in [unpolled.await, blocked.await] {
        let error = held.unwrap_err();
        assert!(
            matches!(error, Error::Fault(Fault::TimedOut { .. })),
            "{error}"
        );
    }
    locker.run("COMMIT").await;
    assert_eq!(
        store.query(&query, options).await.unwrap().events.len(),
        100
    );
}

/// The later read joins a run that gives up when the time of the first one is over.
#[tokio::test(flavor = "multi_thread")]
async fn read_that_joins_later_waits_no_longer_than_its_own_time() {
    const LIMIT: Duration = Duration::from_secs(2);
    let log = fresh_log().await;
    connect(&log).await.append(seats(MANY)).await.unwrap();
    let mut hurried = log.clone();
    hurried.read_connections = 1;
    hurried.read_timeout = LIMIT;
    let store = connect(&hurried).await;
    store.head().await.unwrap();
    let mut locker = locked(&log).await;
    let (all, whole) = (Query::all(), ReadOptions::new());
    // Long reads hold the connection, one after the other, while the short ones wait.
    let mut long = [(); 2].map(|()| Box::pin(store.query(&all, whole)));
    for read in &mut long {
        assert!(poll_once(read.as_mut()).await.is_none());
    }
    let [earlier, later, ..] = ranges();
    let mut first = pin!(store.query(&all, earlier));
    assert!(poll_once(first.as_mut()).await.is_none());
    sleep(LIMIT / 10).await;
    // A read that begins half a limit later ends after it.
    let last = async {
        sleep(LIMIT / 2).await;
        store.query(&all, whole).await
    };
    let later = async {
        match select(pin!(store.query(&all, later)), pin!(last)).await {
            Either::Left((answer, _)) => answer,
            Either::Right(_) => panic!("the last read ends first"),
        }
    };
    let (answer, first, long) = join3(later, first, join_all(long)).await;
    for answer in long.into_iter().chain([first, answer]) {
        let error = answer.unwrap_err();
        assert!(
            matches!(error, Error::Fault(Fault::TimedOut { .. })),
            "{error}"
        );
    }
    locker.run("COMMIT").await;
}
