//! Bookmarks of events that are not in the log: it was restored, failed over or emptied, or the
//! bookmark is of another log.

use std::sync::Arc;

use conformance_suite::assert_refused;
use dcb_core::{
    Append, AppendCondition, Bookmark, DecisionModel, Error, EventStore, Projected, Projector,
    Query, ReadOptions, SequencedEvent, SubscribeOptions, Tracking,
};
use uuid::Uuid;

use super::fixture::{at, head, many, positions, tag, tagged};

/// No event has this id.
const LOST: Uuid = Uuid::max();

fn lost(position: u64) -> Bookmark {
    Bookmark::new(at(position), LOST)
}

fn unless(name: &str) -> AppendCondition {
    AppendCondition::fail_if(tag(name))
}

pub(super) async fn reads_return_bookmarks_that_are_accepted(store: &impl EventStore) {
    let empty = store.query(&tag("a"), ReadOptions::new()).await.unwrap();
    assert_eq!((empty.head, store.head().await.unwrap()), (None, None));
    store.append(many(5, "a")).await.unwrap();
    let whole = store.query(&tag("a"), ReadOptions::new()).await.unwrap();
    let last = whole.events.last().map(SequencedEvent::bookmark);
    assert_eq!(store.head().await.unwrap(), last);
    for query in [tag("a"), tag("absent"), Query::all()] {
        for options in [ReadOptions::new(), ReadOptions::new().backwards()] {
            for options in [options, options.limit(0)] {
                let read = store.query(&query, options).await.unwrap();
                assert_eq!(read.head, last, "{query:?} with {options:?}");
                let stream = store.query_stream(&query, options).await.unwrap();
                assert_eq!(stream.head(), last, "{query:?} with {options:?}");
            }
        }
    }
    for event in &whole.events {
        let after = ReadOptions::new().after(event.bookmark());
        let later = store.query(&tag("a"), after).await.unwrap().events;
        let position = event.position().get();
        assert_eq!(positions(&later), (position + 1..=5).collect::<Vec<_>>());
        let earlier = store.query(&tag("a"), after.backwards()).await.unwrap();
        let expected: Vec<u64> = (1..position).rev().collect();
        assert_eq!(positions(&earlier.events), expected);
        let condition = unless("absent").after(event.bookmark());
        store.append_if(tagged(&["b"]), condition).await.unwrap();
    }
}

pub(super) async fn condition_on_another_event_is_refused(store: &impl EventStore) {
    store.append(many(5, "a")).await.unwrap();
    for position in 1..=5 {
        for name in ["a", "absent"] {
            let refused = store.append_if(tagged(&["a"]), unless(name).after(lost(position)));
            assert_refused!(
                refused.await,
                Error::PastReplaced { position: found } if *found == at(position)
            );
        }
    }
    assert_eq!(head(store).await, 5);
}

/// The error names the smallest replaced position, even if another position is beyond the head.
pub(super) async fn first_replaced_position_is_told(store: &impl EventStore) {
    store.append(many(5, "a")).await.unwrap();
    let conditions = || {
        [
            unless("b").after(at(9)),
            unless("c").after(at(1)),
            unless("d").after(lost(4)),
            unless("e").after(lost(2)),
            unless("f").after(lost(9)),
            unless("a"),
        ]
    };
    let mut reversed = conditions();
    reversed.reverse();
    for conditions in [conditions(), reversed] {
        let tracking = Tracking::new("upstream", 1).unwrap();
        let append = Append::new(tagged(&["a"]))
            .conditions(conditions)
            .tracking(tracking);
        assert_refused!(
            store.submit(append).await,
            Error::PastReplaced { position } if *position == at(2)
        );
    }
    assert_refused!(
        store.append_if(tagged(&["a"]), unless("b").after(lost(6))).await,
        Error::AfterBeyondHead { after, head } if *after == at(6) && *head == Some(at(5))
    );
    assert_eq!(store.tracked("upstream").await.unwrap(), None);
}

/// The ids decide first whether an append is a repeat.
pub(super) async fn repeated_append_ignores_bookmarks(store: &impl EventStore) {
    let event = tagged(&["a"]).with_id(Uuid::from_u128(1));
    store.append(event.clone()).await.unwrap();
    let repeated = store.append_if(event, unless("b").after(lost(1))).await;
    assert_eq!(repeated.unwrap().first(), at(1));
}

pub(super) async fn read_after_another_event_is_refused(store: &impl EventStore) {
    store.append(many(300, "a")).await.unwrap();
    let queries = [Query::all(), tag("a"), tag("absent"), tag("a").or(tag("b"))];
    for position in [1, 150, 300] {
        let after = ReadOptions::new().after(lost(position));
        let forwards = [
            after,
            after.limit(0),
            after.from(at(200)),
            after.from(at(400)),
        ];
        for options in forwards
            .into_iter()
            .flat_map(|options| [options, options.backwards()])
        {
            for query in &queries {
                assert_refused!(
                    store.query(query, options).await,
                    Error::PastReplaced { position: found } if *found == at(position)
                );
                assert_refused!(
                    store.query_stream(query, options).await,
                    Error::PastReplaced { position: found } if *found == at(position)
                );
            }
        }
    }
    let beyond = ReadOptions::new().after(lost(301));
    for options in [beyond, beyond.backwards()] {
        let refused = store.query(&tag("a"), options).await;
        assert_refused!(refused, Error::AfterBeyondHead { .. });
    }
}

pub(super) async fn subscription_after_another_event_ends_with_error(
    store: &Arc<impl EventStore + 'static>,
) {
    store.append(many(5, "a")).await.unwrap();
    let mut events = store.subscribe(tag("a"), lost(3), SubscribeOptions::new());
    assert_refused!(
        events.next().await.expect("the subscription returns its error"),
        Error::PastReplaced { position } if *position == at(3)
    );
    assert!(events.next().await.is_none());
}

pub(super) async fn state_of_another_log_is_not_decided_on(store: &impl EventStore) {
    store.append(many(5, "a")).await.unwrap();
    let counter = || Projector::counter(tag("a"));
    let stream = store.project_stream(&counter(), lost(3)).await.map(drop);
    assert_refused!(stream, Error::PastReplaced { .. });
    let state = || Projected {
        state: 3,
        condition: unless("absent").after(lost(3)),
    };
    let model = DecisionModel::new((counter(), counter()));
    for events in [vec![tagged(&["a"])], Vec::new()] {
        let decide = |_: &u64, _: &u64| Ok::<_, Error>(events.clone());
        let decided = model
            .decide_from(store, &mut (state(), state()), decide)
            .await;
        assert_refused!(decided, Error::PastReplaced { .. });
    }
    assert_eq!(head(store).await, 5);
}
