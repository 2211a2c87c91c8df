//! A projection folds the events of one snapshot, and its condition guards the events it depends
//! on.

use std::sync::Arc;
use std::time::Duration;

use conformance_suite::assert_refused;
use dcb_core::{
    Append, AppendCondition, Bookmark, Command, CommandExecutor, DecisionModel, Error, Event,
    EventStore, Position, Problem, Projected, Projector, Query,
};

use super::fixture::{at, event, head, log, many, query, tag, tagged};

pub(super) async fn empty_log_gives_initial_state(store: &impl EventStore) {
    let projected = store
        .project(&Projector::new(tag("a"), 41, |_, _| ()))
        .await
        .unwrap();
    assert_eq!((projected.state, projected.condition.after), (41, None));
    store
        .append_if(tagged(&["a"]), projected.condition.clone())
        .await
        .unwrap();
    let again = store.append_if(tagged(&["a"]), projected.condition).await;
    assert_refused!(again, Error::Conflict { position, .. } if *position == at(1));
}

pub(super) async fn log_without_match_gives_initial_state(store: &impl EventStore) {
    store.append(many(3, "other")).await.unwrap();
    let projected = store.project(&Projector::exists(tag("a"))).await.unwrap();
    assert!(!projected.state);
    assert_eq!(
        Bookmark::position_of(projected.condition.after),
        Some(at(3))
    );
    assert_eq!(projected.condition.fail_if_events_match, tag("a"));
}

pub(super) async fn tuple_of_projectors_is_one_projection(store: &impl EventStore) {
    let events = [
        event("A", &["x"]),
        event("B", &["x"]),
        event("A", &["y"]),
        event("C", &["z"]),
    ];
    store.append(events).await.unwrap();
    let of_type_a = Projector::counter(query(&["A"], &[]));
    let tagged_x = Projector::counter(tag("x"));
    let order = Projector::new(
        tag("x").or(tag("z")),
        Vec::new(),
        |seen: &mut Vec<u64>, event| {
            seen.push(event.position().get());
        },
    );
    let absent = Projector::exists(tag("absent"));
    let projected = store
        .project(&(of_type_a, tagged_x, order, absent))
        .await
        .unwrap();
    assert_eq!(projected.state, (2, 2, vec![1, 2, 4], false));
}

pub(super) async fn vector_of_projectors_is_one_projection(store: &impl EventStore) {
    store
        .append([tagged(&["a"]), tagged(&["b"]), tagged(&["a", "b"])])
        .await
        .unwrap();
    let counters: Vec<_> = ["a", "b", "c"]
        .map(|name| Projector::counter(tag(name)))
        .into();
    let projected = store.project(&counters).await.unwrap();
    assert_eq!(projected.state, [2, 2, 0]);
    let answer = store
        .append_if(tagged(&["c"]), projected.condition.clone())
        .await;
    answer.unwrap();
    assert_refused!(
        store.append_if(tagged(&["a"]), projected.condition).await,
        Error::Conflict { position, .. } if *position == at(4)
    );
}

/// A list without projections depends on no event. It must not stand for the whole log, whose
/// condition conflicts with every append.
pub(super) async fn empty_list_of_projections_is_refused(store: &Arc<impl EventStore + 'static>) {
    store.append(many(3, "a")).await.unwrap();
    let none = || Vec::<Projector<u64>>::new();
    let one = || Projector::counter(tag("a"));
    assert_no_projections(store.project(&none()).await);
    assert_no_projections(store.project(&(one(), none())).await);
    assert_no_projections(store.project(&vec![vec![one()], none()]).await);
    let empty = none();
    let stream = store.project_stream(&empty, None).await;
    assert_no_projections(stream.map(|_stream| ()));
    let decide = DecisionModel::new(none());
    let decided = decide.decide(store, |_| Ok::<_, Error>(tagged(&["decided"])));
    assert_no_projections(decided.await);
    let executor = CommandExecutor::new(Arc::clone(store));
    let command = Command::builder("Count").build().unwrap();
    let handle = |_| async {
        let projected = store.project(&none()).await?;
        Ok::<_, Error>(Append::new(tagged(&["decided"])).condition(projected.condition))
    };
    assert_no_projections(executor.execute(command, handle).await);
    assert_eq!(head(store).await, 3, "nothing is written");
}

fn assert_no_projections<T: std::fmt::Debug>(answer: Result<T, Error>) {
    assert_refused!(
        answer,
        Error::Invalid { field, problem: Problem::Empty } if field == "projections"
    );
}

pub(super) async fn condition_conflicts_with_events_of_the_projection(store: &impl EventStore) {
    store
        .append([tagged(&["a"]), tagged(&["b"])])
        .await
        .unwrap();
    for name in ["a", "b", "c"] {
        let counter = |name| Projector::counter(tag(name));
        let projection = (counter("a"), counter("b"), Projector::exists(tag("c")));
        let projected = store.project(&projection).await.unwrap();
        let changed = store.append(tagged(&[name, "further"])).await.unwrap();
        assert_refused!(
            store.append_if(tagged(&[]), projected.condition).await,
            Error::Conflict { position, .. } if *position == changed.first()
        );
    }
}

pub(super) async fn condition_ignores_unrelated_events(store: &impl EventStore) {
    store
        .append([event("A", &["x"]), event("B", &["x"])])
        .await
        .unwrap();
    let projected = store
        .project(&Projector::counter(query(&["A"], &["x"])))
        .await
        .unwrap();
    let beside = [event("B", &["x"]), event("A", &["y"]), event("A", &[])];
    store.append(beside).await.unwrap();
    store
        .append_if(event("A", &["x"]), projected.condition)
        .await
        .unwrap();
}

pub(super) async fn project_stream_yields_each_state(store: &impl EventStore) {
    store
        .append(["a", "other", "a", "a"].map(|name| tagged(&[name])))
        .await
        .unwrap();
    let counter = Projector::counter(tag("a"));
    let mut stream = store.project_stream(&counter, None).await.unwrap();
    assert_eq!(*stream.state(), 0);
    for (count, position) in [(1, 1), (2, 3)] {
        let (state, event) = stream.next().await.unwrap().unwrap();
        assert_eq!((*state, event.position()), (count, at(position)));
    }
    let projected = stream.finish().await.unwrap();
    assert_eq!(
        (
            projected.state,
            Bookmark::position_of(projected.condition.after)
        ),
        (3, Some(at(4)))
    );
}

pub(super) async fn project_stream_starts_after_a_position(store: &impl EventStore) {
    store.append(many(5, "a")).await.unwrap();
    let counter = Projector::counter(tag("a"));
    for after in 1..=5 {
        let stream = store.project_stream(&counter, at(after)).await.unwrap();
        assert_eq!(stream.finish().await.unwrap().state, 5 - after);
    }
    let answer = store.project_stream(&counter, at(6)).await.map(|_| ());
    assert_refused!(answer, Error::AfterBeyondHead { .. });
}

/// The state and the condition ignore every event after the position.
pub(super) async fn project_at_sees_the_log_of_that_time(store: &impl EventStore) {
    let numbers = [("A", "x", 1), ("B", "x", 2), ("A", "y", 3), ("A", "x", 4)];
    let events = numbers.map(|(event_type, tag, number)| numbered(event_type, tag, number));
    store.append(events).await.unwrap();
    let projection = (
        Projector::counter(tag("x")),
        last_number(),
        Projector::new(query(&["B"], &[]), 0, |last, event| {
            *last = event.position().get();
        })
        .last_only(),
    );
    for (last, state) in [
        (0, (0, 10, 0)),
        (1, (1, 11, 0)),
        (2, (2, 11, 2)),
        (3, (2, 13, 2)),
        (4, (3, 14, 2)),
    ] {
        let last = Position::new(last);
        let stream = store.project_at(&projection, last).await.unwrap();
        let projected = stream.finish().await.unwrap();
        assert_eq!(projected.state, state, "{last:?}");
        let head = Bookmark::position_of(projected.condition.after);
        assert_eq!(head, last);
        let append = store.append_if(tagged(&["z"]), projected.condition);
        // The last matching event is at position 4.
        assert_eq!(append.await.is_ok(), last == Some(at(4)), "{last:?}");
    }
    // The condition of position 4 held.
    let beyond = |answer: Result<(), Error>| {
        assert_refused!(
            answer,
            Error::AfterBeyondHead { after, head } if (*after, *head) == (at(6), Some(at(5)))
        );
    };
    let (all, last) = (Projector::counter(tag("x")), last_number());
    beyond(store.project_at(&all, at(6)).await.map(|_| ()));
    beyond(store.project_at(&last, at(6)).await.map(|_| ()));
    assert_eq!(store.projection_limit().running(), 0);
}

/// The stream ends with the position, however many events follow.
pub(super) async fn project_at_yields_each_state_up_to_the_position(store: &impl EventStore) {
    store.append(many(600, "a")).await.unwrap();
    let (a, last) = (Projector::counter(tag("a")), 300);
    let mut stream = store.project_at(&a, at(last)).await.unwrap();
    for count in 1..=last {
        let (state, event) = stream.next().await.unwrap().unwrap();
        assert_eq!((*state, event.position()), (count, at(count)));
    }
    assert!(stream.next().await.is_none());
}

pub(super) async fn refused_projection_leaks_no_permit(store: &impl EventStore) {
    let counter = Projector::counter(Query::all());
    let limit = store.projection_limit();
    let mut permits = Vec::new();
    while let Ok(permit) = limit.acquire() {
        permits.push(permit);
    }
    let all = permits.len();
    for _ in 0..3 {
        assert_refused!(
            store.project(&counter).await,
            Error::TooManyProjections { max, current } if (*max, *current) == (all, all)
        );
    }
    permits.pop();
    for _ in 0..3 {
        store.project(&counter).await.unwrap();
    }
    drop(permits);
    assert_eq!(limit.running(), 0);
}

pub(super) async fn dropped_projection_leaks_no_permit(store: &impl EventStore) {
    store.append(many(1000, "a")).await.unwrap();
    let counter = Projector::counter(tag("a"));
    for _ in 0..20 {
        let mut stream = store.project_stream(&counter, None).await.unwrap();
        stream.next().await.unwrap().unwrap();
        assert_eq!(store.projection_limit().running(), 1);
        drop(stream);
        // A timeout of zero polls the projection once, then drops it at its first await.
        let _ = tokio::time::timeout(Duration::ZERO, store.project(&counter)).await;
        assert_eq!(store.projection_limit().running(), 0);
    }
    assert_eq!(store.project(&counter).await.unwrap().state, 1000);
}

pub(super) async fn failed_projection_leaks_no_permit(store: &impl EventStore) {
    let counter = Projector::counter(tag("a"));
    for _ in 0..3 {
        let answer = store.project_stream(&counter, at(9)).await.map(|_| ());
        assert_refused!(answer, Error::AfterBeyondHead { .. });
        assert_eq!(store.projection_limit().running(), 0);
    }
}

/// An event with a number as its data.
fn numbered(event_type: &str, tag: &str, number: u64) -> Event {
    let event = Event::builder(event_type).tag(tag).json(&number);
    event.build().expect("the event is valid")
}

pub(super) async fn handlers_see_only_their_types_and_tags(store: &impl EventStore) {
    let events = [("A", "x"), ("B", "x"), ("C", "x"), ("A", "y")];
    let events = events.map(|(event_type, tag)| numbered(event_type, tag, 2));
    store.append(events).await.unwrap();
    let projector = Projector::builder(Vec::new())
        .on("A", |seen, event| seen.push(("a", event.position().get())))
        .on_json("B", |seen, number: u64| seen.push(("b", number)))
        .tag("x")
        .build()
        .unwrap();
    let projected = store.project(&projector).await.unwrap();
    assert_eq!(projected.state, [("a", 1), ("b", 2)]);
    let last = log(store).await.pop().map(|event| event.bookmark());
    let boundary = AppendCondition::fail_if(query(&["A", "B"], &["x"])).after(last);
    assert_eq!(projected.condition, boundary);
}

pub(super) async fn unreadable_data_ends_a_projection(store: &impl EventStore) {
    let malformed = Event::builder("A").data("{").build().unwrap();
    store
        .append([numbered("A", "x", 1), malformed])
        .await
        .unwrap();
    let sum = Projector::builder(0)
        .on_json("A", |sum, number: u64| *sum += number)
        .build()
        .unwrap();
    assert_refused!(
        store.project(&sum).await,
        Error::Unreadable { position, .. } if *position == at(2)
    );
    let mut stream = store.project_stream(&sum, None).await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    assert!(stream.next().await.unwrap().is_err());
    assert!(stream.next().await.is_none());
    assert_refused!(stream.finish().await, Error::Unreadable { .. });
    assert_eq!(store.projection_limit().running(), 0);
}

/// The sum of the numbers of type A, which is the last number if only the last event counts.
fn last_number() -> Projector<u64> {
    let sum = Projector::builder(10).on_json("A", |sum, number: u64| *sum += number);
    sum.last_only().build().unwrap()
}

pub(super) async fn last_only_sees_the_last_event(store: &impl EventStore) {
    let empty = store.project(&last_number()).await.unwrap();
    assert_eq!((empty.state, empty.condition.after), (10, None));
    store.append(numbered("B", "x", 7)).await.unwrap();
    let none = store.project(&last_number()).await.unwrap();
    let after = |projected: &Projected<u64>| Bookmark::position_of(projected.condition.after);
    assert_eq!((none.state, after(&none)), (10, Some(at(1))));
    for number in 1..=3 {
        store.append(numbered("A", "x", number)).await.unwrap();
    }
    store.append(numbered("B", "x", 7)).await.unwrap();
    let last = store.project(&last_number()).await.unwrap();
    assert_eq!((last.state, after(&last)), (13, Some(at(5))));
    let last = last_number();
    let mut stream = store.project_stream(&last, None).await.unwrap();
    let (state, event) = stream.next().await.unwrap().unwrap();
    assert_eq!((*state, event.position()), (13, at(4)));
    assert!(stream.next().await.is_none());
}

/// Any later event of the query conflicts, and no other does: of two callers that saw the same last
/// event, one succeeds.
pub(super) async fn last_only_is_protected_like_the_whole_query(store: &impl EventStore) {
    for first in [true, false] {
        let seen = store.project(&last_number()).await.unwrap();
        let same = store.project(&last_number()).await.unwrap();
        assert_eq!(seen, same, "first: {first}");
        store.append(numbered("B", "x", 7)).await.unwrap();
        let next = numbered("A", "x", seen.state + 1);
        let won = store.append_if(next.clone(), seen.condition).await.unwrap();
        assert_refused!(
            store.append_if(next, same.condition).await,
            Error::Conflict { position, .. } if *position == won.first()
        );
    }
}

pub(super) async fn last_only_starts_after_a_position(store: &impl EventStore) {
    store
        .append([numbered("A", "x", 1), numbered("B", "x", 7)])
        .await
        .unwrap();
    let last = last_number();
    for (after, state) in [(None, 11), (Some(at(1)), 10), (Some(at(2)), 10)] {
        let bookmark = after.map(Bookmark::from);
        let stream = store.project_stream(&last, bookmark).await.unwrap();
        let projected = stream.finish().await.unwrap();
        assert_eq!(projected.state, state, "{after:?}");
        let head = Bookmark::position_of(projected.condition.after);
        assert_eq!(head, Some(at(2)), "{after:?}");
    }
    let beyond = store.project_stream(&last, at(3)).await;
    assert_refused!(beyond.map(|_| ()), Error::AfterBeyondHead { .. });
}

/// Each projector gets exactly the events that its query selects, in order.
pub(super) async fn last_events_and_whole_queries_share_a_snapshot(store: &impl EventStore) {
    let positions = |query| {
        Projector::new(query, Vec::new(), |seen: &mut Vec<u64>, event| {
            seen.push(event.position().get());
        })
    };
    let last = |query| positions(query).last_only();
    let projection = (
        last(query(&["A"], &[])),
        positions(query(&[], &["x"])),
        last(query(&["A"], &["y"])),
        last(query(&["Absent"], &[])),
        last(query(&["C"], &[])),
    );
    let empty = store.project(&projection).await.unwrap();
    assert_eq!(empty.condition.after, None);
    let events = [
        event("A", &["y"]),
        event("C", &[]),
        event("A", &["x"]),
        event("B", &["x"]),
        event("A", &["x", "y"]),
        event("A", &[]),
        event("B", &["x"]),
        event("B", &["y"]),
    ];
    store.append(events).await.unwrap();
    let projected = store.project(&projection).await.unwrap();
    let expected = (vec![6], vec![3, 4, 5, 7], vec![5], vec![], vec![2]);
    assert_eq!(projected.state, expected);
    let head = Bookmark::position_of(projected.condition.after);
    assert_eq!(head, Some(at(8)));
    let mut stream = store.project_stream(&projection, None).await.unwrap();
    let mut passed = Vec::new();
    while let Some(step) = stream.next().await {
        passed.push(step.unwrap().1.position().get());
    }
    assert_eq!(passed, [2, 3, 4, 5, 6, 7]);
    for (name, tag, conflicts) in [
        ("A", "z", true),
        ("B", "x", true),
        ("Absent", "z", true),
        ("C", "z", true),
        ("B", "z", false),
    ] {
        let projected = store.project(&projection).await.unwrap();
        let changed = store.append(event(name, &[tag])).await.unwrap();
        let answer = store.append_if(tagged(&[]), projected.condition).await;
        if conflicts {
            assert_refused!(
                answer,
                Error::Conflict { position, .. } if *position == changed.first()
            );
        } else {
            answer.unwrap();
        }
    }
}
