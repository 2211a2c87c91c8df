//! The events that a query selects.

use std::ops::{Bound, RangeBounds as _};

use super::fixture::{at, event, log, positions, query, read, tag};
use dcb_core::{EventStore, Extent, Query, SequencedEvent};

/// Events of three types, with none, some or all of three tags.
async fn fill(store: &impl EventStore) {
    let events = [
        event("A", &[]),
        event("A", &["x"]),
        event("B", &["x"]),
        event("B", &["x", "y"]),
        event("C", &["y"]),
        event("C", &["x", "y", "z"]),
    ];
    store.append(events).await.unwrap();
}

async fn assert_selects(store: &impl EventStore, query: Query, expected: &[u64]) {
    assert_eq!(positions(&read(store, &query).await), expected, "{query:?}");
}

pub(super) async fn types_of_an_item_are_alternatives(store: &impl EventStore) {
    fill(store).await;
    assert_selects(store, query(&["A"], &[]), &[1, 2]).await;
    assert_selects(store, query(&["C", "A"], &[]), &[1, 2, 5, 6]).await;
    assert_selects(store, query(&["Absent"], &[]), &[]).await;
    assert_selects(store, query(&["Absent", "B", "B"], &[]), &[3, 4]).await;
}

pub(super) async fn all_tags_of_an_item_are_required(store: &impl EventStore) {
    fill(store).await;
    assert_selects(store, tag("x"), &[2, 3, 4, 6]).await;
    assert_selects(store, query(&[], &["y", "x"]), &[4, 6]).await;
    assert_selects(store, query(&[], &["x", "y", "z"]), &[6]).await;
    assert_selects(store, query(&[], &["x", "absent"]), &[]).await;
    assert_selects(store, query(&["B"], &["x", "y"]), &[4]).await;
}

pub(super) async fn items_are_alternatives(store: &impl EventStore) {
    fill(store).await;
    assert_selects(
        store,
        query(&["A"], &["x"]).or(query(&["C"], &["y"])),
        &[2, 5, 6],
    )
    .await;
    assert_selects(store, tag("y").or(tag("x")), &[2, 3, 4, 5, 6]).await;
    assert_selects(store, tag("absent").or(query(&["A"], &[])), &[1, 2]).await;
}

pub(super) async fn query_all_matches_every_event(store: &impl EventStore) {
    fill(store).await;
    assert_selects(store, Query::all(), &[1, 2, 3, 4, 5, 6]).await;
    assert_selects(store, Query::all().or(tag("absent")), &[1, 2, 3, 4, 5, 6]).await;
}

pub(super) async fn count_and_exists_agree_with_events(store: &impl EventStore) {
    fill(store).await;
    let events = log(store).await;
    for query in [
        Query::all(),
        tag("x"),
        tag("absent"),
        query(&["C"], &["x"]),
        query(&["A"], &["y"]),
        tag("z").or(query(&["A"], &[])),
        tag("y").or(tag("x")),
    ] {
        let matching = events.iter().filter(|event| query.matches(event)).count() as u64;
        assert_eq!(store.count(&query).await.unwrap(), matching, "{query:?}");
        assert_eq!(
            store.exists(&query).await.unwrap(),
            matching > 0,
            "{query:?}"
        );
    }
}

pub(super) async fn extent_agrees_with_events(store: &impl EventStore) {
    let empty = Extent {
        count: 0,
        last: None,
        head: None,
    };
    for query in [Query::all(), tag("x")] {
        assert_eq!(store.extent(&query, ..).await.unwrap(), empty, "{query:?}");
    }
    fill(store).await;
    let events = log(store).await;
    let head = events.last().map(SequencedEvent::bookmark);
    let marks = [Bound::Unbounded].into_iter().chain(
        [1, 2, 5, 6, 7, u64::MAX]
            .map(at)
            .into_iter()
            .flat_map(|at| [Bound::Included(at), Bound::Excluded(at)]),
    );
    let ranges = marks
        .clone()
        .flat_map(|a| marks.clone().map(move |b| (a, b)));
    for query in [
        Query::all(),
        tag("x"),
        tag("absent"),
        query(&["C"], &["x"]),
        query(&["A"], &[]),
        tag("z").or(query(&["A"], &[])),
    ] {
        for range in ranges.clone() {
            let mut matching = events
                .iter()
                .filter(|event| query.matches(event) && range.contains(&event.position()));
            let expected = Extent {
                count: matching.clone().count() as u64,
                last: matching.next_back().map(SequencedEvent::bookmark),
                head,
            };
            let extent = store.extent(&query, range).await.unwrap();
            assert_eq!(extent, expected, "{query:?} within {range:?}");
        }
    }
}
