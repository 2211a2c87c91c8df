//! Short reads that wait for a connection together: each gets its own answer, whatever becomes of
//! the others.

use std::ops::Bound;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{Error, Event, EventStore as _, Query, ReadOptions};
use futures_util::future::{join, join_all};
use tokio::time::timeout;

use super::short_ranges::{MANY, expected, queried, queries, seats, streamed};
use crate::support::events::{at, positions, whole_log};
use crate::support::proxy::{Cut, Proxy};
use crate::support::sql::Sql;
use crate::support::wait::wait_until;
use crate::support::{connect, fresh_log};

/// How many reads the store lets share a statement.
const SHARE: usize = 16;

/// A store that reads by one connection, which rests, over a log that is longer than a short range.
async fn reader(log: &Config) -> PostgresStore {
    let mut log = log.clone();
    log.read_connections = 1;
    let store = connect(&log).await;
    store.append(seats(MANY)).await.unwrap();
    store.head().await.unwrap();
    store
}

/// Ranges at the end of the log that a store reads as they stand.
fn ranges() -> [ReadOptions; 4] {
    let many = MANY as u64;
    [
        ReadOptions::new().after(at(many - 100)),
        ReadOptions::new().after(at(many - 200)).limit(7),
        ReadOptions::new().after(at(many - 151)).limit(1),
        ReadOptions::new().after(at(many)),
    ]
}

fn reads() -> Vec<(Query, ReadOptions)> {
    let reads = queries()
        .into_iter()
        .flat_map(|query| ranges().map(|options| (query.clone(), options)));
    let reads: Vec<_> = reads.collect();
    // Each is there again, among others.
    let again = reads.iter().rev().cloned();
    reads.iter().cloned().chain(again).collect()
}

/// Asks for all of [`reads`] at once.
async fn share_statements(ask: impl AsyncFn(&PostgresStore, &Query, ReadOptions) -> Vec<u64>) {
    let log = fresh_log().await;
    let store = reader(&log).await;
    let all = whole_log(&store).await;
    let mut locker = locked(&log).await;
    let reads = reads();
    let before = store.stats().reads;
    // All are asked before the first can be answered: that one has the connection, the others wait.
    let answers = reads
        .iter()
        .map(|(query, options)| ask(&store, query, *options));
    let (answers, ()) = join(join_all(answers), locker.run("COMMIT")).await;
    for ((query, options), answer) in reads.iter().zip(answers) {
        let expected = expected(query, &all, *options);
        assert_eq!(answer, expected, "{query:?} {options:?}");
    }
    let statements = store.stats().reads - before;
    assert_eq!(statements as usize, 1 + (reads.len() - 1).div_ceil(SHARE));
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_that_wait_share_statements_and_each_gets_its_own_answer() {
    share_statements(queried).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_wait_share_statements_too() {
    share_statements(streamed).await;
}

/// Of a query with several tags or alternatives the server can't count what is in a short range.
#[tokio::test(flavor = "multi_thread")]
async fn counts_that_wait_share_statements() {
    let log = fresh_log().await;
    let store = reader(&log).await;
    let all = whole_log(&store).await;
    let counts: Vec<_> = reads()
        .into_iter()
        .filter(|(query, options)| options.limit.is_none() && !query.is_all())
        .collect();
    let alone = counts
        .iter()
        .filter(|(query, _)| query.items().len() > 1 || query.items()[0].tags().len() > 1)
        .count();
    let mut locker = locked(&log).await;
    let before = store.stats().reads;
    let extents = counts.iter().map(|(query, options)| {
        let after = options.after.expect("each range has an after");
        store.extent(query, (Bound::Excluded(after), Bound::Unbounded))
    });
    let (extents, ()) = join(join_all(extents), locker.run("COMMIT")).await;
    for ((query, options), extent) in counts.iter().zip(extents) {
        let expected = expected(query, &all, *options);
        let extent = extent.unwrap();
        assert_eq!(extent.count, expected.len() as u64, "{query:?} {options:?}");
        let last = extent.last.map(|last| last.get());
        assert_eq!(last, expected.last().copied(), "{query:?} {options:?}");
        assert_eq!(extent.head, Some(at(MANY as u64)));
    }
    let statements = (store.stats().reads - before) as usize;
    let together = counts.len() - alone;
    let most = 1 + alone + together.div_ceil(SHARE);
    assert!(
        together > 2 * SHARE / 3 && statements <= most,
        "{statements} for {together} + {alone}"
    );
}

/// Who takes events one by one is not to have more than a few of them in memory.
#[tokio::test(flavor = "multi_thread")]
async fn large_events_are_not_kept_for_others() {
    const LARGE: usize = 900_000;
    let log = fresh_log().await;
    let store = reader(&log).await;
    let large = |_| {
        Event::builder("Drawn")
            .data(vec![b'x'; LARGE])
            .build()
            .unwrap()
    };
    store
        .append((0..10).map(large).collect::<Vec<_>>())
        .await
        .unwrap();
    let after = ReadOptions::new().after(at(MANY as u64));
    let mut locker = locked(&log).await;
    let before = store.stats().reads;
    let asked = (0..6).map(async |_| {
        let mut events = store.query_stream(&Query::all(), after).await.unwrap();
        let mut count = 0;
        while let Some(event) = events.next().await {
            assert_eq!(event.unwrap().data().len(), LARGE);
            count += 1;
        }
        count
    });
    let (counts, ()) = join(join_all(asked), locker.run("COMMIT")).await;
    assert_eq!(counts, [10; 6]);
    // One alone, then all others together in vain, then each of them alone.
    assert_eq!(store.stats().reads - before, 1 + 1 + 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_reads_that_wait_are_read_once() {
    let log = fresh_log().await;
    let writer = reader(&log).await;
    let all = whole_log(&writer).await;
    writer.close().await;
    let before = events_read(&log).await;
    let mut one = log.clone();
    one.read_connections = 1;
    let store = connect(&one).await;
    store.head().await.unwrap();
    let mut locker = locked(&log).await;
    let [query, ..] = queries();
    let [options, ..] = ranges();
    let ask = |_| queried(&store, &query, options);
    let answers = join_all((0..=SHARE).map(ask));
    let (answers, ()) = join(answers, locker.run("COMMIT")).await;
    let expected = expected(&query, &all, options);
    assert!(answers.iter().all(|answer| *answer == expected));
    store.close().await;
    // One alone, and all others together.
    let read = events_read(&log).await - before;
    let twice = 2 * expected.len() as i64;
    assert!((twice..twice + 10).contains(&read), "{read} of {twice}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_sees_what_was_appended_before_it() {
    const CALLERS: usize = 40;
    const ROUNDS: usize = 10;
    let store = Arc::new(reader(&fresh_log().await).await);
    let callers = (0..CALLERS).map(|caller| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let own = Query::builder().tag(format!("caller:{caller}"));
            let own = own.build().unwrap();
            for round in 0..ROUNDS {
                let tags = [format!("caller:{caller}")];
                let event = Event::builder("Seen").tags(tags).build();
                let appended = store.append([event.unwrap()]).await.unwrap();
                let options = ReadOptions::new().from(appended.first());
                let seen = queried(&store, &own, options).await;
                assert_eq!(seen, [appended.first().get()], "round {round}");
            }
        })
    });
    for caller in join_all(callers).await {
        caller.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gives_up_takes_no_answer_from_the_others() {
    const ROUNDS: usize = 50;
    let store = Arc::new(reader(&fresh_log().await).await);
    let all = Arc::new(whole_log(&store).await);
    for round in 0..ROUNDS {
        let tasks: Vec<_> = reads()
            .into_iter()
            .map(|(query, options)| {
                let (store, all) = (Arc::clone(&store), Arc::clone(&all));
                tokio::spawn(async move {
                    let answer = queried(&store, &query, options).await;
                    assert_eq!(answer, expected(&query, &all, options), "{query:?}");
                })
            })
            .collect();
        // Leaders and those behind them, before, while and after they are asked for.
        tokio::time::sleep(Duration::from_micros(20 * round as u64)).await;
        let gone = |index: usize| index.is_multiple_of(3) || index == round % 24;
        for (index, task) in tasks.iter().enumerate() {
            if gone(index) {
                task.abort();
            }
        }
        for (index, done) in join_all(tasks).await.into_iter().enumerate() {
            assert!(done.is_ok() || gone(index), "{done:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_others_made_long_is_read_to_its_end() {
    let log = fresh_log().await;
    let writer = connect(&log).await;
    writer.append(seats(10)).await.unwrap();
    for query in queries() {
        let mut one = log.clone();
        one.read_connections = 1;
        let store = connect(&one).await;
        store.head().await.unwrap();
        writer.append(seats(MANY)).await.unwrap();
        let expected = expected(&query, &whole_log(&writer).await, ReadOptions::new());
        let answers = (0..20).map(|_| queried(&store, &query, ReadOptions::new()));
        for answer in join_all(answers).await {
            assert_eq!(answer, expected, "{query:?}");
        }
        store.close().await;
        writer.clear().await.unwrap();
        writer.append(seats(10)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_beyond_the_head_is_refused_alone() {
    let store = reader(&fresh_log().await).await;
    let all = whole_log(&store).await;
    let beyond = MANY as u64 + 1;
    let asked: Vec<_> = (0..20)
        .map(|index| if index % 4 == 3 { beyond } else { beyond - 9 })
        .collect();
    let query = Query::builder().tag("hall:1").build().unwrap();
    let answers = asked
        .iter()
        .map(|after| store.query(&query, ReadOptions::new().after(at(*after))));
    for (after, answer) in asked.iter().zip(join_all(answers).await) {
        if *after == beyond {
            let refused = answer.unwrap_err();
            assert!(
                matches!(refused, Error::AfterBeyondHead { .. }),
                "{refused}"
            );
        } else {
            let options = ReadOptions::new().after(at(*after));
            let expected = expected(&query, &all, options);
            assert_eq!(positions(&answer.unwrap().events), expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_lost_costs_those_who_shared_it_no_answer() {
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
        // One has the connection; what is sent next, others share.
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
async fn reads_of_a_server_that_does_not_answer_are_all_told_so() {
    let log = fresh_log().await;
    connect(&log).await.append(seats(MANY)).await.unwrap();
    let mut hurried = log.clone();
    hurried.read_connections = 1;
    hurried.query_timeout = Duration::from_millis(300);
    let store = connect(&hurried).await;
    store.head().await.unwrap();
    let mut locker = locked(&log).await;
    let reads = reads();
    let before = store.stats().reads;
    let answers = reads
        .iter()
        .map(|(query, options)| store.query(query, *options));
    for answer in join_all(answers).await {
        let told = answer.unwrap_err();
        assert!(matches!(told, Error::Timeout { .. }), "{told}");
    }
    let statements = store.stats().reads - before;
    assert!(statements as usize <= reads.len(), "nobody asks twice");
    locker.run("COMMIT").await;
    for (query, options) in &reads {
        store.query(query, *options).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_that_wait_when_the_store_is_closed_end() {
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
    tokio::time::sleep(Duration::from_millis(50)).await;
    locker.run("COMMIT").await;
    for done in join_all(asked).await {
        if let Err(told) = done.unwrap() {
            assert!(matches!(told, Error::Closed), "{told}");
        }
    }
    closing.await.unwrap();
}

/// The first in line is not polled, as one that a caller puts aside to do something else first.
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_behind_one_that_was_put_aside_is_told_in_time() {
    let log = fresh_log().await;
    connect(&log).await.append(seats(MANY)).await.unwrap();
    let mut hurried = log.clone();
    hurried.read_connections = 1;
    hurried.query_timeout = Duration::from_millis(300);
    let store = connect(&hurried).await;
    store.head().await.unwrap();
    let mut stream = store
        .query_stream(&Query::all(), ReadOptions::new())
        .await
        .unwrap();
    stream.next().await.unwrap().unwrap();
    let query = Query::all();
    let [options, ..] = ranges();
    let mut aside = pin!(store.query(&query, options));
    assert!(poll_once(aside.as_mut()).await.is_none());
    let behind = store.query(&query, options);
    let told = timeout(Duration::from_secs(60), behind).await;
    let told = told.expect("it ends").unwrap_err();
    assert!(matches!(told, Error::Timeout { .. }), "{told}");
    let told = aside.await.unwrap_err();
    assert!(matches!(told, Error::Timeout { .. }), "{told}");
    drop(stream);
    assert_eq!(
        store.query(&query, options).await.unwrap().events.len(),
        100
    );
}

/// What a future is ready with at once.
async fn poll_once<T>(mut future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// A session in whose hands the log is: no read is answered until it commits.
async fn locked(log: &Config) -> Sql {
    let mut session = Sql::connect(&log.url).await;
    session.run("BEGIN").await;
    session
        .run(&format!("LOCK TABLE {}.event", log.schema))
        .await;
    session
}

/// How many events the stores of this log have read, once all of them are closed.
async fn events_read(log: &Config) -> i64 {
    let mut observer = Sql::connect(&log.url).await;
    let schema = &log.schema;
    let open = format!(
        "SELECT count(*)::text FROM pg_stat_activity \
          WHERE application_name = 'dcb-core' AND position('{schema}' IN query) > 0"
    );
    // A session's counters are complete when it has ended.
    wait_until("the sessions have ended", async || {
        observer.number(&open).await == 0
    })
    .await;
    let read = format!(
        "SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::text FROM pg_stat_user_tables \
          WHERE schemaname = '{schema}' AND relname = 'event'"
    );
    observer.number(&read).await
}

/// Waits until a read waits for the log.
async fn wait_for_a_read(log: &Config) {
    let waiting = format!(
        "SELECT count(*)::text FROM pg_locks \
          WHERE NOT granted AND relation = '{}.event'::regclass",
        log.schema
    );
    let mut observer = Sql::connect(&log.url).await;
    wait_until("a read waits for the log", async || {
        observer.number(&waiting).await > 0
    })
    .await;
}
