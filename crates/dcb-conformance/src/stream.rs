//! A stream yields the events of one snapshot, one at a time.

use super::fixture::{at, head, log, many, positions, tag};
use dcb_core::{Bookmark, EventStore, EventStream, Query, ReadOptions};

async fn drain(mut stream: EventStream) -> Vec<u64> {
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event.unwrap());
    }
    positions(&events)
}

pub(super) async fn stream_yields_the_events_of_a_query(store: &impl EventStore) {
    // More events than a backend reads in one page.
    for _ in 0..5 {
        store.append(many(700, "a")).await.unwrap();
    }
    for options in [
        ReadOptions::new(),
        ReadOptions::new().backwards(),
        ReadOptions::new().after(at(1200)).limit(2000),
        ReadOptions::new().from(at(1200)).limit(1100).backwards(),
        ReadOptions::new().limit(0),
    ] {
        let stream = store.query_stream(&tag("a"), options).await.unwrap();
        assert_eq!(Bookmark::position_of(stream.head()), Some(at(3500)));
        let events = store.query(&tag("a"), options).await.unwrap().events;
        assert_eq!(drain(stream).await, positions(&events), "{options:?}");
    }
}

pub(super) async fn stream_reads_one_snapshot(store: &impl EventStore) {
    for forwards in [true, false] {
        let before = log(store).await.len() as u64;
        store.append(many(900, "a")).await.unwrap();
        let options = ReadOptions::new();
        let options = if forwards {
            options
        } else {
            options.backwards()
        };
        let mut stream = store.query_stream(&Query::all(), options).await.unwrap();
        let first = stream.next().await.unwrap().unwrap().position();
        let last = before + 900;
        assert_eq!(first, at(if forwards { 1 } else { last }));
        store.append(many(900, "later")).await.unwrap();
        assert_eq!(Bookmark::position_of(stream.head()), Some(at(last)));
        let rest = drain(stream).await;
        let expected: Vec<u64> = if forwards {
            (2..=last).collect()
        } else {
            (1..last).rev().collect()
        };
        assert_eq!(rest, expected);
    }
}

pub(super) async fn stream_can_be_dropped_early(store: &impl EventStore) {
    store.append(many(1000, "a")).await.unwrap();
    for taken in (0..200).map(|round| round % 3) {
        let mut stream = store
            .query_stream(&Query::all(), ReadOptions::new())
            .await
            .unwrap();
        for _ in 0..taken {
            stream.next().await.unwrap().unwrap();
        }
    }
    assert_eq!(log(store).await.len(), 1000);
    store.append(many(1, "a")).await.unwrap();
    assert_eq!(head(store).await, 1001);
}
