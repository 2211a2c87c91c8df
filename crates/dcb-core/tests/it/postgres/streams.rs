//! Streams whose consumer is slow.

use std::time::Duration;

use dcb_core::postgres::PostgresStore;
use dcb_core::{Event, EventStore as _, Query, ReadOptions};

use crate::support::postgres::{connect, fresh_log};

/// Longer than a page waits for its consumer.
const SLOW: Duration = Duration::from_millis(150);
const EVENTS: u64 = 700;

/// A store with one read connection, over events of 1,000 bytes: a page has several chunks.
async fn filled() -> PostgresStore {
    let mut log = fresh_log().await;
    log.read_connections = 1;
    let store = connect(&log).await;
    let event = || Event::builder("Filled").tag("a").data(vec![b'x'; 1000]);
    let events: Vec<Event> = (0..EVENTS).map(|_| event().build().unwrap()).collect();
    store.append(events).await.unwrap();
    store
}

/// The positions that a stream yields to a consumer that pauses before the events at `pauses`, and
/// reads something else meanwhile.
async fn taken_slowly(
    store: &PostgresStore,
    query: &Query,
    options: ReadOptions,
    pauses: &[usize],
) -> Vec<u64> {
    let mut stream = store.query_stream(query, options).await.unwrap();
    let mut positions = Vec::new();
    loop {
        if pauses.contains(&positions.len()) {
            tokio::time::sleep(SLOW).await;
            store.head().await.unwrap();
        }
        match stream.next().await {
            Some(event) => positions.push(event.unwrap().position().get()),
            None => return positions,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_consumer_gets_every_event_once() {
    let store = filled().await;
    let tagged = Query::builder().tag("a").build().unwrap();
    for query in [Query::all(), tagged] {
        for options in [
            ReadOptions::new(),
            ReadOptions::new().backwards(),
            ReadOptions::new().limit(300),
            ReadOptions::new().backwards().limit(257),
        ] {
            let expected = store.query(&query, options).await.unwrap();
            let expected: Vec<u64> = expected
                .events
                .iter()
                .map(|event| event.position().get())
                .collect();
            let pauses = [0, 1, 100, 256, 299];
            let taken = taken_slowly(&store, &query, options, &pauses).await;
            assert_eq!(taken, expected, "{options:?}");
        }
    }
    store.close().await;
}

/// The snapshot of a stream is fixed by its first page, even if the consumer is slow.
#[tokio::test(flavor = "multi_thread")]
async fn slow_consumer_sees_one_snapshot() {
    let store = filled().await;
    let mut stream = store
        .query_stream(&Query::all(), ReadOptions::new())
        .await
        .unwrap();
    stream.next().await.unwrap().unwrap();
    tokio::time::sleep(SLOW).await;
    let later = Event::builder("Later").build().unwrap();
    store.append(later).await.unwrap();
    let mut last = 1;
    while let Some(event) = stream.next().await {
        last = event.unwrap().position().get();
    }
    assert_eq!(last, EVENTS);
    store.close().await;
}

/// An unfinished stream must not keep `close` waiting.
#[tokio::test(flavor = "multi_thread")]
async fn close_does_not_wait_for_an_unfinished_stream() {
    let store = filled().await;
    let mut stream = store
        .query_stream(&Query::all(), ReadOptions::new())
        .await
        .unwrap();
    stream.next().await.unwrap().unwrap();
    store.close().await;
    let mut ends = None;
    while let Some(event) = stream.next().await {
        ends = Some(event);
    }
    assert!(
        matches!(
            ends,
            Some(Err(dcb_core::Error::Fault(dcb_core::Fault::Closed)))
        ),
        "{ends:?}"
    );
}
