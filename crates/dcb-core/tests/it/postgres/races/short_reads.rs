//! Short reads that wait for a connection share statements, and identical ones run once. Each read
//! gets its own answer, even if others fail, are cancelled, or are not polled.

use std::ops::Bound;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{Bookmark, Error, Event, EventStore as _, Query, ReadOptions};
use futures_util::future::{join, join_all};
use tokio::time::sleep;

use super::short_ranges::{MANY, expected, queried, queries, seats, streamed};
use crate::support::events::{at, positions, whole_log};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log};
use crate::support::wait::wait_until;

/// The maximum number of unlike reads in a statement.
const MAX_SHARED: usize = 16;

/// A store with one idle read connection, over a log that is longer than a short range.
pub(super) async fn reader(log: &Config) -> PostgresStore {
    let mut log = log.clone();
    log.read_connections = 1;
    let store = connect(&log).await;
    store.append(seats(MANY)).await.unwrap();
    store.head().await.unwrap();
    store
}

/// Ranges at the end of the log that count as short.
pub(super) fn ranges() -> [ReadOptions; 4] {
    let many = MANY as u64;
    [
        ReadOptions::new().after(at(many - 100)),
        ReadOptions::new().after(at(many - 200)).limit(7),
        ReadOptions::new().after(at(many - 151)).limit(1),
        ReadOptions::new().after(at(many)),
    ]
}

pub(super) fn reads() -> Vec<(Query, ReadOptions)> {
    let reads = queries()
        .into_iter()
        .flat_map(|query| ranges().map(|options| (query.clone(), options)));
    let reads: Vec<_> = reads.collect();
    // Every read occurs twice, among different neighbours.
    let again = reads.iter().rev().cloned();
    reads.iter().cloned().chain(again).collect()
}

/// Runs all [`reads`] at once and counts the statements.
async fn assert_statements_are_shared(
    read: impl AsyncFn(&PostgresStore, &Query, ReadOptions) -> Vec<u64>,
) {
    let log = fresh_log().await;
    let store = reader(&log).await;
    let all = whole_log(&store).await;
    let mut locker = locked(&log).await;
    let reads = reads();
    let before = store.stats().reads;
    // The lock holds up the first read, which has the connection, so all others wait together.
    let answers = reads
        .iter()
        .map(|(query, options)| read(&store, query, *options));
    let (answers, ()) = join(join_all(answers), locker.run("COMMIT")).await;
    for ((query, options), answer) in reads.iter().zip(answers) {
        let expected = expected(query, &all, *options);
        assert_eq!(answer, expected, "{query:?} {options:?}");
    }
    let statements = store.stats().reads - before;
    // The first read does not wait, so its twin does not join it.
    let unlike = reads.len() / 2;
    assert_eq!(statements as usize, 1 + unlike.div_ceil(MAX_SHARED));
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_reads_share_statements_and_get_their_own_answers() {
    assert_statements_are_shared(queried).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_streams_share_statements_and_get_their_own_answers() {
    assert_statements_are_shared(streamed).await;
}

/// Another session locks the log, so that the reads pile up behind all connections.
#[tokio::test(flavor = "multi_thread")]
async fn many_unlike_reads_take_few_statements() {
    const CALLERS: u64 = 100;
    const CONNECTIONS: u32 = 4;
    let log = fresh_log().await;
    connect(&log).await.append(seats(MANY)).await.unwrap();
    let mut several = log.clone();
    several.read_connections = CONNECTIONS;
    let store = connect(&several).await;
    let all = whole_log(&store).await;
    for (round, query) in queries().into_iter().enumerate() {
        let options = |caller| ranges()[round % 3].limit(1 + caller);
        let mut locker = locked(&log).await;
        let before = store.stats().reads;
        let answers = (0..CALLERS).map(|caller| queried(&store, &query, options(caller)));
        let (answers, ()) = join(join_all(answers), locker.run("COMMIT")).await;
        for (caller, answer) in (0..).zip(answers) {
            assert_eq!(answer, expected(&query, &all, options(caller)), "{query:?}");
        }
        let statements = (store.stats().reads - before) as usize;
        // The first on each connection serve one read each, or none, if the pool just grew.
        let most = 2 * CONNECTIONS as usize + (CALLERS as usize).div_ceil(MAX_SHARED);
        assert!(statements <= most, "round {round}: {statements}");
    }
}

/// The server makes custom plans for the first executions, and a generic one for the later rounds.
#[tokio::test(flavor = "multi_thread")]
async fn shared_statement_reads_only_the_ranges() {
    const ROUNDS: usize = 20;
    const CALLERS: u64 = 16;
    const RANGE: u64 = 10;
    let log = fresh_log().await;
    let writer = reader(&log).await;
    let all = whole_log(&writer).await;
    writer.close().await;
    let before = events_read(&log).await;
    let mut one = log.clone();
    one.read_connections = 1;
    let store = connect(&one).await;
    store.head().await.unwrap();
    let [query, ..] = queries();
    let options = |caller| {
        let after = at(MANY as u64 - RANGE);
        ReadOptions::new().after(after).limit(RANGE + caller)
    };
    for _ in 0..ROUNDS {
        let mut locker = locked(&log).await;
        let answers = (0..=CALLERS).map(|caller| queried(&store, &query, options(caller)));
        let (answers, ()) = join(join_all(answers), locker.run("COMMIT")).await;
        let expected = expected(&query, &all, options(0));
        assert!(answers.iter().all(|answer| *answer == expected));
    }
    store.close().await;
    let read = events_read(&log).await - before;
    // Each statement also looks up the head.
    let most = ROUNDS as i64 * ((CALLERS + 1) * RANGE + 2 + 2) as i64;
    assert!(read <= most, "{read} instead of {most}");
}

/// The pool opens connections for waiting reads, up to its limit.
#[tokio::test(flavor = "multi_thread")]
async fn unlike_reads_spread_over_connections_that_the_pool_can_open() {
    const CONNECTIONS: usize = 4;
    let log = fresh_log().await;
    connect(&log).await.append(seats(MANY)).await.unwrap();
    let mut several = log.clone();
    several.read_connections = CONNECTIONS as u32;
    let store = connect(&several).await;
    store.head().await.unwrap();
    let mut locker = locked(&log).await;
    let [query, ..] = queries();
    let [options, ..] = ranges();
    let answers =
        (1..=CONNECTIONS as u64).map(|limit| queried(&store, &query, options.limit(limit)));
    let release = async {
        wait_until("the pool has grown", async || {
            store.stats().read_connections as usize == CONNECTIONS
        })
        .await;
        locker.run("COMMIT").await;
    };
    let (answers, ()) = join(join_all(answers), release).await;
    let lengths: Vec<_> = answers.iter().map(Vec::len).collect();
    assert_eq!(lengths, [1, 2, 3, 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn identical_waiting_extents_run_once() {
    let log = fresh_log().await;
    let store = reader(&log).await;
    let all = whole_log(&store).await;
    let counts: Vec<_> = reads()
        .into_iter()
        .filter(|(query, options)| options.limit.is_none() && !query.is_all())
        .collect();
    let mut locker = locked(&log).await;
    let before = store.stats().reads;
    let extents = counts.iter().map(|(query, options)| {
        let after = options.after.expect("each range has `after`").position;
        store.extent(query, (Bound::Excluded(after), Bound::Unbounded))
    });
    let (extents, ()) = join(join_all(extents), locker.run("COMMIT")).await;
    for ((query, options), extent) in counts.iter().zip(extents) {
        let expected = expected(query, &all, *options);
        let extent = extent.unwrap();
        assert_eq!(extent.count, expected.len() as u64, "{query:?} {options:?}");
        let last = extent.last.map(|last| last.position.get());
        assert_eq!(last, expected.last().copied(), "{query:?} {options:?}");
        assert_eq!(Bookmark::position_of(extent.head), Some(at(MANY as u64)));
    }
    let statements = store.stats().reads - before;
    assert_eq!(statements as usize, 1 + counts.len() / 2);
}

/// Six streams of ten large events. A stream must not keep more than a few of them in memory.
async fn assert_large_events_are_read_alone(limit: impl Fn(u64) -> u64) {
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
    let asked = (0..6).map(async |caller| {
        let options = after.limit(limit(caller));
        let mut events = store.query_stream(&Query::all(), options).await.unwrap();
        let mut count = 0;
        while let Some(event) = events.next().await {
            assert_eq!(event.unwrap().data().len(), LARGE);
            count += 1;
        }
        count
    });
    let (counts, ()) = join(join_all(asked), locker.run("COMMIT")).await;
    assert_eq!(counts, [10; 6]);
    // The first read runs alone. The other five share a statement that is given up, then run alone.
    assert_eq!(store.stats().reads - before, 1 + 1 + 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn identical_reads_of_large_events_fall_back_to_single_reads() {
    assert_large_events_are_read_alone(|_| 10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unlike_reads_of_large_events_fall_back_to_single_reads() {
    assert_large_events_are_read_alone(|caller| 10 + caller).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn run_of_many_identical_reads_reads_the_events_once() {
    const CALLERS: usize = 17;
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
    let answers = join_all((0..CALLERS).map(ask));
    let (answers, ()) = join(answers, locker.run("COMMIT")).await;
    let expected = expected(&query, &all, options);
    assert!(answers.iter().all(|answer| *answer == expected));
    store.close().await;
    // The first read runs alone, and all others run once.
    let read = events_read(&log).await - before;
    let twice = 2 * expected.len() as i64;
    assert!((twice..twice + 10).contains(&read), "{read} of {twice}");
}

#[tokio::test(flavor = "multi_thread")]
async fn read_sees_all_earlier_appends() {
    const CALLERS: usize = 40;
    const ROUNDS: usize = 10;
    let store = Arc::new(reader(&fresh_log().await).await);
    let callers = (0..CALLERS).map(|caller| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let query = Query::builder().tag(format!("caller:{caller}"));
            let query = query.build().unwrap();
            for round in 0..ROUNDS {
                let tags = [format!("caller:{caller}")];
                let event = Event::builder("Seen").tags(tags).build();
                let appended = store.append([event.unwrap()]).await.unwrap();
                let options = ReadOptions::new().from(appended.first());
                let seen = queried(&store, &query, options).await;
                assert_eq!(seen, [appended.first().get()], "round {round}");
            }
        })
    });
    for caller in join_all(callers).await {
        caller.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_read_costs_others_no_answer() {
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
        // The delay differs, so cancellation hits the first of identical reads and those that joined
        // it, at every stage.
        sleep(Duration::from_micros(20 * round as u64)).await;
        let is_cancelled = |index: usize| index.is_multiple_of(3) || index == round % 24;
        for (index, task) in tasks.iter().enumerate() {
            if is_cancelled(index) {
                task.abort();
            }
        }
        for (index, done) in join_all(tasks).await.into_iter().enumerate() {
            assert!(done.is_ok() || is_cancelled(index), "{done:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shared_read_of_a_range_that_grew_long_is_complete() {
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
async fn read_beyond_the_head_is_refused_alone() {
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

/// Polls the future once. Returns its output if it is ready.
pub(super) async fn poll_once<T>(mut future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// A session that locks the log. No read is answered until the session commits.
pub(super) async fn locked(log: &Config) -> Sql {
    let mut session = Sql::connect(&log.url).await;
    session.run("BEGIN").await;
    session
        .run(&format!("LOCK TABLE {}.event", log.schema))
        .await;
    session
}

/// The number of events that the stores on this log have read. Waits until all stores are closed.
async fn events_read(log: &Config) -> i64 {
    let mut observer = Sql::connect(&log.url).await;
    let schema = &log.schema;
    let open = format!(
        "SELECT count(*)::text FROM pg_stat_activity \
          WHERE application_name = 'dcb-core' AND position('{schema}' IN query) > 0"
    );
    // A session's counters are complete only after it has ended.
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

/// Waits until a read is blocked by the lock.
pub(super) async fn wait_for_a_read(log: &Config) {
    let waiting = format!(
        "SELECT count(*)::text FROM pg_locks \
          WHERE NOT granted AND relation = '{}.event'::regclass",
        log.schema
    );
    let mut observer = Sql::connect(&log.url).await;
    wait_until("a read waits for the lock", async || {
        observer.number(&waiting).await > 0
    })
    .await;
}
