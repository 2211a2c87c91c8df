//! The options of a read, alone and combined.

use conformance_suite::assert_refused;
use dcb_core::{Bookmark, Error, Event, EventStore, Position, Query, ReadOptions, SequencedEvent};

use super::fixture::{at, event, head, log, many, positions, query, read, tag, tagged};

/// The events that a read of `log` must return: applies order, `after`, `from`, query and limit in
/// turn.
fn expected(log: &[SequencedEvent], query: &Query, options: ReadOptions) -> Vec<SequencedEvent> {
    let mut events = log.to_vec();
    if options.backwards {
        events.reverse();
    }
    if let Some(after) = Bookmark::position_of(options.after) {
        events.retain(|event| match options.backwards {
            true => event.position() < after,
            false => event.position() > after,
        });
    }
    if let Some(from) = options.from {
        events.retain(|event| match options.backwards {
            true => event.position() <= from,
            false => event.position() >= from,
        });
    }
    events.retain(|event| query.matches(event));
    events.truncate(options.limit.map_or(usize::MAX, |limit| limit as usize));
    events
}

pub(super) async fn options_combine_in_every_way(store: &impl EventStore) {
    let types = ["A", "B", "A", "A", "B", "A"];
    let events = types
        .iter()
        .enumerate()
        .map(|(index, name)| event(name, if index % 2 == 0 { &["even"] } else { &[] }));
    store.append(events.collect::<Vec<_>>()).await.unwrap();
    let log = log(store).await;
    let marks: Vec<Option<Position>> = (0..=6).map(Position::new).collect();
    let queries = [
        Query::all(),
        query(&["A"], &[]),
        tag("even").or(query(&["B"], &[])),
        tag("absent"),
    ];
    for query in &queries {
        for (&after, &from) in marks.iter().flat_map(|a| marks.iter().map(move |f| (a, f))) {
            for limit in [None, Some(0), Some(1), Some(3), Some(6), Some(7)] {
                let forwards = ReadOptions::new()
                    .after(after.map(Bookmark::from))
                    .from(from)
                    .limit(limit);
                for options in [forwards, forwards.backwards()] {
                    let read = store.query(query, options).await.unwrap();
                    let expected = expected(&log, query, options);
                    assert_eq!(read.events, expected, "{query:?} with {options:?}");
                    let head = Bookmark::position_of(read.head);
                    assert_eq!(head, Some(at(6)), "{query:?} with {options:?}");
                }
            }
        }
    }
}

/// A log with dense runs of matches, sparse matches, and stretches without any.
fn dense_and_sparse() -> impl Iterator<Item = Event> {
    /// `(events, one_in)`: of `events` events, one in `one_in` matches.
    const RUNS: [(usize, usize); 9] = [
        (60, 1),
        (50, 2),
        (200, 50),
        (40, 1),
        (90, 1000),
        (5, 1),
        (40, 4),
        (100, 3),
        (30, 1),
    ];
    RUNS.into_iter().flat_map(|(events, one_in)| {
        (0..events).map(move |number| match number % one_in {
            0 if number % 2 == 0 => event("A", &["wanted"]),
            0 => event("B", &["wanted", "too"]),
            _ => event("A", &["other"]),
        })
    })
}

pub(super) async fn dense_and_sparse_matches_read_alike(store: &impl EventStore) {
    store
        .append(dense_and_sparse().collect::<Vec<_>>())
        .await
        .unwrap();
    let log = log(store).await;
    let both = query(&["A"], &["wanted"]).or(query(&["B"], &["too"]));
    for query in [both, tag("wanted"), query(&["B"], &["wanted", "too"])] {
        for mark in [None, Some(1), Some(30), Some(111), Some(309), Some(450)] {
            for limit in [None, Some(1), Some(16), Some(60), Some(170)] {
                let after = mark.and_then(Position::new).map(Bookmark::from);
                let forwards = ReadOptions::new().after(after).limit(limit);
                for options in [forwards, forwards.backwards()] {
                    let read = store.query(&query, options).await.unwrap();
                    let expected = expected(&log, &query, options);
                    assert_eq!(read.events, expected, "{query:?} with {options:?}");
                }
            }
        }
        let extent = store.extent(&query, ..=at(400)).await.unwrap();
        let matches = |event: &&SequencedEvent| event.position() <= at(400) && query.matches(event);
        let matching: Vec<_> = log.iter().filter(matches).collect();
        assert_eq!(extent.count, matching.len() as u64, "{query:?}");
        assert_eq!(
            extent.last,
            matching.last().map(|event| event.bookmark()),
            "{query:?}"
        );
    }
}

pub(super) async fn read_without_match_returns_head(store: &impl EventStore) {
    let nothing = store
        .query(&tag("absent"), ReadOptions::new())
        .await
        .unwrap();
    assert_eq!((nothing.events.len(), nothing.head), (0, None));
    store.append(many(3, "other")).await.unwrap();
    for options in [ReadOptions::new(), ReadOptions::new().backwards()] {
        let nothing = store.query(&tag("absent"), options).await.unwrap();
        let head = Bookmark::position_of(nothing.head);
        assert_eq!((nothing.events.len(), head), (0, Some(at(3))));
    }
}

pub(super) async fn limit_of_zero_returns_only_the_head(store: &impl EventStore) {
    store.append(many(2, "a")).await.unwrap();
    for options in [ReadOptions::new(), ReadOptions::new().backwards()] {
        let read = store.query(&tag("a"), options.limit(0)).await.unwrap();
        let head = Bookmark::position_of(read.head);
        assert_eq!((read.events.len(), head), (0, Some(at(2))));
    }
}

pub(super) async fn after_beyond_the_head_is_refused(store: &impl EventStore) {
    for last in 0..2 {
        for beyond in [last + 1, last + 100, u64::MAX] {
            for query in [Query::all(), tag("absent")] {
                let answer = store
                    .query(&query, ReadOptions::new().after(at(beyond)))
                    .await;
                assert_refused!(
                    answer,
                    Error::AfterBeyondHead { after, head }
                        if (*after, *head) == (at(beyond), Position::new(last))
                );
            }
        }
        let at_head = ReadOptions::new().after(Position::new(last).map(Bookmark::from));
        assert!(
            store
                .query(&Query::all(), at_head)
                .await
                .unwrap()
                .events
                .is_empty()
        );
        store.append(tagged(&["a"])).await.unwrap();
    }
}

pub(super) async fn from_beyond_the_head_returns_no_events(store: &impl EventStore) {
    store.append(many(2, "a")).await.unwrap();
    for from in [3, 100] {
        let read = store
            .query(&tag("a"), ReadOptions::new().from(at(from)))
            .await
            .unwrap();
        let head = Bookmark::position_of(read.head);
        assert_eq!((read.events.len(), head), (0, Some(at(2))));
    }
}

pub(super) async fn extreme_positions_and_limits_are_accepted(store: &impl EventStore) {
    store.append(many(2, "a")).await.unwrap();
    // The largest i64 that SQL backends can bind, and numbers beyond it.
    for number in [i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
        let read =
            async |options| positions(&store.query(&tag("a"), options).await.unwrap().events);
        assert_eq!(read(ReadOptions::new().limit(number)).await, [1, 2]);
        assert_eq!(read(ReadOptions::new().from(at(number))).await, [0; 0]);
        assert_eq!(
            read(ReadOptions::new().from(at(number)).backwards()).await,
            [2, 1]
        );
        assert_eq!(
            read(ReadOptions::new().after(at(number)).backwards()).await,
            [2, 1]
        );
    }
}

pub(super) async fn pages_by_position_cover_the_log(store: &impl EventStore) {
    for index in 0..20 {
        store
            .append(many(1 + index % 3, if index % 4 == 0 { "b" } else { "a" }))
            .await
            .unwrap();
    }
    for query in [Query::all(), tag("a"), tag("b")] {
        let whole = read(store, &query).await;
        for size in [1, 3, 7, 100] {
            assert_eq!(pages(store, &query, size).await, whole, "pages of {size}");
        }
    }
    assert_eq!(head(store).await, log(store).await.len() as u64);
}

async fn pages(store: &impl EventStore, query: &Query, size: u64) -> Vec<SequencedEvent> {
    let mut events: Vec<SequencedEvent> = Vec::new();
    // Every page but the last has an event, so there is at most one page more than events.
    for _ in 0..=head(store).await {
        let after = events.last().map(SequencedEvent::bookmark);
        let options = ReadOptions::new().after(after).limit(size);
        events.extend(store.query(query, options).await.unwrap().events);
    }
    events
}
