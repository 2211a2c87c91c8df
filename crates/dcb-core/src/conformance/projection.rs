//! A projection folds the events of one snapshot, and its condition guards the events it depends
//! on.

use std::sync::Arc;
use std::time::Duration;

use super::fixture::{assert_refused, at, event, head, many, query, tag, tagged};
use crate::{
    Append, Command, CommandExecutor, DecisionModel, Error, EventStore, Problem, Projector, Query,
};

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
    assert_eq!(projected.condition.after, Some(at(3)));
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
        (projected.state, projected.condition.after),
        (3, Some(at(4)))
    );
}

pub(super) async fn project_stream_starts_after_a_position(store: &impl EventStore) {
    store.append(many(5, "a")).await.unwrap();
    let counter = Projector::counter(tag("a"));
    for after in 1..=5 {
        let stream = store
            .project_stream(&counter, Some(at(after)))
            .await
            .unwrap();
        assert_eq!(stream.finish().await.unwrap().state, 5 - after);
    }
    let answer = store
        .project_stream(&counter, Some(at(6)))
        .await
        .map(|_| ());
    assert_refused!(answer, Error::AfterBeyondHead { .. });
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
        let answer = store
            .project_stream(&counter, Some(at(9)))
            .await
            .map(|_| ());
        assert_refused!(answer, Error::AfterBeyondHead { .. });
        assert_eq!(store.projection_limit().running(), 0);
    }
}
