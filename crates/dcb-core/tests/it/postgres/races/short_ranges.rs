//! Reads of a range that is longer than the store knows.
//!
//! A store uses different statements for short and long ranges. It chooses by the last head that it
//! saw, but other stores may have appended many events since.

use dcb_core::postgres::PostgresStore;
use dcb_core::{Event, EventStore as _, Query, ReadOptions, SequencedEvent};
use futures_util::TryStreamExt as _;

use crate::support::events::{at, positions, whole_log};
use crate::support::postgres::{connect, fresh_log};

/// Far more events than a store reads as a short range.
pub(crate) const MANY: usize = 1_000;

pub(crate) fn seats(count: usize) -> Vec<Event> {
    let seat = |number: usize| {
        let event_type = ["Reserved", "Released"][number % 2];
        let row = format!("row:{}", number % 5);
        Event::builder(event_type).tag("hall:1").tag(row).build()
    };
    (0..count).map(|number| seat(number).unwrap()).collect()
}

/// One query for each kind of statement.
pub(crate) fn queries() -> [Query; 6] {
    let query = Query::builder;
    [
        Ok(Query::all()),
        query().event_type("Reserved").build(),
        query().event_types(["Reserved", "Released"]).build(),
        query().event_type("Reserved").tag("row:2").build(),
        query().tags(["hall:1", "row:3"]).build(),
        query().event_type("Reserved").or().tag("row:1").build(),
    ]
    .map(Result::unwrap)
}

pub(crate) fn expected(query: &Query, log: &[SequencedEvent], options: ReadOptions) -> Vec<u64> {
    let after = options.after.map_or(0, |after| after.position.get());
    let limit = options.limit.unwrap_or(u64::MAX) as usize;
    let matching = log.iter().filter(|event| query.matches(event));
    let positions = matching.map(|event| event.position().get());
    positions
        .filter(|position| *position > after)
        .take(limit)
        .collect()
}

pub(crate) async fn queried(
    store: &PostgresStore,
    query: &Query,
    options: ReadOptions,
) -> Vec<u64> {
    positions(&store.query(query, options).await.unwrap().events)
}

pub(crate) async fn streamed(
    store: &PostgresStore,
    query: &Query,
    options: ReadOptions,
) -> Vec<u64> {
    let stream = store.query_stream(query, options).await.unwrap();
    positions(&stream.try_collect::<Vec<_>>().await.unwrap())
}

/// Runs each query on a store that last saw ten events, when the log has many.
async fn read_after_growth(read: impl AsyncFn(&PostgresStore, &Query, &[SequencedEvent])) {
    let log = fresh_log().await;
    let writer = connect(&log).await;
    writer.append(seats(10)).await.unwrap();
    // One store per query, because an answer tells the store the new head.
    let mut readers = Vec::new();
    for query in queries() {
        let reader = connect(&log).await;
        reader.head().await.unwrap();
        readers.push((query, reader));
    }
    writer.append(seats(MANY)).await.unwrap();
    let all = whole_log(&writer).await;
    for (query, reader) in readers {
        read(&reader, &query, &all).await;
        reader.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn query_reads_a_range_that_grew_long() {
    read_after_growth(async |store, query, all| {
        let options = ReadOptions::new();
        let expected = expected(query, all, options);
        assert_eq!(queried(store, query, options).await, expected, "{query:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_reads_a_range_that_grew_long() {
    read_after_growth(async |store, query, all| {
        let options = ReadOptions::new().after(at(5)).limit(300);
        let expected = expected(query, all, options);
        assert_eq!(streamed(store, query, options).await, expected, "{query:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn extent_counts_a_range_that_grew_long() {
    read_after_growth(async |store, query, all| {
        let expected = expected(query, all, ReadOptions::new());
        let extent = store.extent(query, ..).await.unwrap();
        assert_eq!(extent.count, expected.len() as u64, "{query:?}");
        let last = extent.last.map(|last| last.position.get());
        assert_eq!(last, expected.last().copied(), "{query:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn short_range_takes_one_statement() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(seats(MANY)).await.unwrap();
    let all = whole_log(&store).await;
    for query in queries() {
        for limit in [1, 7, 1_000] {
            let options = ReadOptions::new().after(at(MANY as u64 - 100)).limit(limit);
            let expected = expected(&query, &all, options);
            let before = store.stats().reads;
            assert_eq!(queried(&store, &query, options).await, expected);
            assert_eq!(streamed(&store, &query, options).await, expected);
            let reads = store.stats().reads - before;
            assert_eq!(reads, 2, "{query:?}, at most {limit}");
        }
    }
}
