//! Hand-written batches, and random batches checked against the memory store.

use proptest::prelude::*;

use super::*;
use crate::{
    Append, AppendCondition, Bookmark, Event, EventStore as _, MemoryStore, Query, Tracking,
};

fn event(tag: &str) -> Event {
    let event = Event::builder("Happened").tag(tag).build();
    event.expect("the event is valid")
}

fn unless(tag: &str) -> AppendCondition {
    let query = Query::builder().tag(tag).build();
    AppendCondition::fail_if(query.expect("the query is valid"))
}

fn batch(appends: impl IntoIterator<Item = Append>) -> Vec<Arc<Request>> {
    appends.into_iter().map(Request::new).collect()
}

fn at(number: u64) -> Position {
    Position::new(number).expect("positions begin at 1")
}

fn conflict(position: u64) -> Verdict {
    Verdict::Done(Err(Error::Conflict {
        position: at(position),
        condition: 0,
    }))
}

/// The verdicts as text, if the server has this head and refuses these requests.
fn verdicts(
    batch: &[Arc<Request>],
    head: u64,
    refusals: impl IntoIterator<Item = (usize, Verdict)>,
) -> Vec<String> {
    let verdicts = Plan::new(batch).verdicts(batch, head, refusals.into_iter().collect());
    let words = verdicts.into_iter().map(|verdict| match verdict {
        Verdict::Done(Ok(appended)) => format!("{}-{}", appended.first(), appended.last()),
        Verdict::Done(Err(Error::Conflict {
            position,
            condition: 0,
        })) => format!("conflict {position}"),
        Verdict::Done(Err(Error::Conflict {
            position,
            condition,
        })) => format!("conflict {position} of condition {condition}"),
        Verdict::Done(Err(error)) => error.to_string(),
        Verdict::Stored => "stored".to_owned(),
        Verdict::Again => "again".to_owned(),
    });
    words.collect()
}

fn sent(batch: &[Arc<Request>]) -> Vec<bool> {
    let plan = Plan::new(batch);
    (0..batch.len()).map(|index| plan.is_sent(index)).collect()
}

#[test]
fn accepted_requests_get_consecutive_positions() {
    let batch = batch([
        Append::new([event("a"), event("b")]),
        Append::new(event("a")),
        Append::new([event("c"), event("c")]),
    ]);
    assert_eq!(sent(&batch), [true; 3]);
    assert_eq!(verdicts(&batch, 0, []), ["1-2", "3-3", "4-5"]);
    assert_eq!(verdicts(&batch, 7, []), ["8-9", "10-10", "11-12"]);
}

#[test]
fn refused_request_takes_no_positions() {
    let batch = batch([
        Append::new(event("a")),
        Append::new([event("b"), event("b")]).condition(unless("b")),
        Append::new(event("c")),
    ]);
    assert_eq!(
        verdicts(&batch, 5, [(1, conflict(3))]),
        ["6-6", "conflict 3", "7-7"]
    );
}

#[test]
fn request_that_conflicts_with_earlier_one_is_deferred() {
    let batch = batch([
        Append::new([event("a"), event("b")]),
        Append::new(event("c")).condition(unless("b")),
        Append::new(event("d")).condition(unless("d")),
    ]);
    assert_eq!(sent(&batch), [true, false, true]);
    assert_eq!(verdicts(&batch, 10, []), ["11-12", "conflict 12", "13-13"]);
}

#[test]
fn deferred_request_is_resubmitted_if_earlier_one_is_refused() {
    let batch = batch([
        Append::new(event("b")).condition(unless("a")),
        Append::new(event("c")).condition(unless("b")),
    ]);
    assert_eq!(
        verdicts(&batch, 1, [(0, conflict(1))]),
        ["conflict 1", "again"]
    );
}

#[test]
fn deferred_request_conflicts_with_first_committed_event() {
    let batch = batch([
        Append::new(event("b")).condition(unless("a")),
        Append::new(event("b")),
        Append::new(event("b")),
        Append::new(event("c")).condition(unless("b")),
    ]);
    assert_eq!(
        verdicts(&batch, 1, [(0, conflict(1))]),
        ["conflict 1", "2-2", "3-3", "conflict 2"]
    );
}

#[test]
fn server_refusal_overrides_deferral() {
    let batch = batch([
        Append::new(event("b")),
        Append::new(event("c")).condition(unless("b")),
    ]);
    assert_eq!(
        verdicts(&batch, 9, [(1, conflict(4))]),
        ["10-10", "conflict 4"]
    );
}

#[test]
fn deferred_request_defers_no_later_one() {
    let batch = batch([
        Append::new(event("a")),
        Append::new(event("b")).condition(unless("a")),
        Append::new(event("c")).condition(unless("b")),
    ]);
    assert_eq!(sent(&batch), [true, false, true]);
    assert_eq!(verdicts(&batch, 0, []), ["1-1", "conflict 1", "2-2"]);
}

#[test]
fn condition_on_all_events_is_deferred_by_any_earlier_event() {
    let all = AppendCondition::fail_if(Query::all());
    let batch = batch([
        Append::new(event("a")).condition(all.clone()),
        Append::new(event("b")).condition(all),
    ]);
    assert_eq!(sent(&batch), [true, false]);
    assert_eq!(verdicts(&batch, 0, []), ["1-1", "conflict 1"]);
}

#[test]
fn deferred_request_names_first_condition_of_first_committed_event() {
    let batch = batch([
        Append::new([event("b"), event("a")]).condition(unless("x")),
        Append::new([event("c"), event("a")]),
        Append::new(event("d")).conditions([unless("a"), unless("b"), unless("c")]),
    ]);
    assert_eq!(sent(&batch), [true, true, false]);
    assert_eq!(
        verdicts(&batch, 0, []),
        ["1-2", "3-4", "conflict 1 of condition 1"]
    );
    assert_eq!(
        verdicts(&batch, 5, [(0, conflict(2))]),
        ["conflict 2", "6-7", "conflict 6 of condition 2"]
    );
}

#[test]
fn after_beyond_head_names_first_such_condition() {
    let after = |position| unless("a").after(at(position));
    let batch = batch([Append::new(event("a")).conditions([after(3), after(9), after(8)])]);
    let reason = RefusalReason {
        code: 2,
        position: 0,
        condition: 0,
    };
    let refused = (0, refusal(reason, &batch[0], 3));
    assert_eq!(
        verdicts(&batch, 3, [refused]),
        ["position 9 is beyond the head 3"]
    );
}

#[test]
fn requests_with_same_id_or_source_take_two_batches() {
    let id = Uuid::from_u128(1);
    let tracking = || Tracking::new("source", 1).expect("the tracking is valid");
    let batch = batch([
        Append::new(event("a").with_id(id)).tracking(tracking()),
        Append::new(event("a").with_id(id)),
        Append::new(event("a")).tracking(tracking()),
    ]);
    assert_eq!(sent(&batch), [true, false, false]);
    assert_eq!(verdicts(&batch, 0, []), ["1-1", "again", "again"]);
}

#[test]
fn each_refusal_becomes_its_error() {
    let tracking = Tracking::new("source", 1).expect("the tracking is valid");
    let batch = batch([
        Append::new(event("a").with_id(Uuid::from_u128(1))),
        Append::new(event("a")).condition(unless("b").after(at(9))),
        Append::new(event("a")).tracking(tracking),
    ]);
    let refusals = [(1, 0), (2, 0), (3, 5)];
    let refusals = refusals.into_iter().enumerate();
    let refusals = refusals.map(|(index, (code, position))| {
        let reason = RefusalReason {
            code,
            position,
            condition: 0,
        };
        (index, refusal(reason, &batch[index], 3))
    });
    assert_eq!(
        verdicts(&batch, 3, refusals),
        [
            "stored",
            "position 9 is beyond the head 3",
            "position 5 of source is already tracked"
        ]
    );
}

/// Appends with events of up to three tags, and up to three conditions on one or two of them or on
/// everything.
fn appends() -> impl Strategy<Value = Vec<Append>> {
    let tag = || prop::sample::select(vec!["a", "b", "c"]);
    let condition = (
        prop::collection::vec(tag(), 0..3),
        prop::option::of(1..6_u64),
    );
    let condition = condition.prop_map(|(tags, after)| {
        let queries = tags
            .iter()
            .map(|tag| unless(tag).fail_if_events_match)
            .reduce(Query::or);
        AppendCondition::fail_if(queries.unwrap_or_else(Query::all))
            .after(after.and_then(Position::new).map(Bookmark::from))
    });
    let append = (
        prop::collection::vec(tag(), 1..4),
        prop::collection::vec(condition, 0..4),
    );
    let append = append.prop_map(|(tags, conditions)| Append {
        conditions,
        ..Append::new(tags.into_iter().map(event).collect::<Vec<_>>())
    });
    prop::collection::vec(append, 1..10)
}

/// A store with these appends.
async fn store_of(appends: &[Append]) -> MemoryStore {
    let store = MemoryStore::new();
    for append in appends {
        let append = Append::new(append.events.clone());
        store.submit(append).await.expect("an unconditional append");
    }
    store
}

/// The head and the refusals of a server that checks each condition against the log as it was before
/// the batch.
async fn refusals_of(before: &[Append], batch: &[Append]) -> (u64, Refusals) {
    let head = before.iter().map(|append| append.events.len() as u64).sum();
    let mut refusals = Refusals::new();
    for (index, append) in batch.iter().enumerate() {
        match store_of(before).await.submit(append.clone()).await {
            Ok(_) => {}
            Err(error @ (Error::Conflict { .. } | Error::AfterBeyondHead { .. })) => {
                refusals.insert(index, Verdict::Done(Err(error)));
            }
            Err(error) => panic!("{error}"),
        }
    }
    (head, refusals)
}

/// Checks that the batch gives the results of its requests submitted one by one, apart from
/// requests to submit again. An `after` beyond the head is compared with the head before the batch,
/// so that result differs too.
async fn check_one_after_the_other(before: Vec<Append>, appends: Vec<Append>) {
    let (head, refusals) = refusals_of(&before, &appends).await;
    let requests = batch(appends.clone());
    let verdicts = Plan::new(&requests).verdicts(&requests, head, refusals);
    let oracle = store_of(&before).await;
    for (append, verdict) in appends.into_iter().zip(verdicts) {
        match verdict {
            Verdict::Again | Verdict::Done(Err(Error::AfterBeyondHead { .. })) => {}
            Verdict::Done(result) => {
                let expected = oracle.submit(append).await;
                assert_eq!(format!("{result:?}"), format!("{expected:?}"));
            }
            Verdict::Stored => panic!("no request has an id"),
        }
    }
}

proptest! {
    #[test]
    fn batch_settles_like_sequential_appends(before in appends(), batch in appends()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(check_one_after_the_other(before, batch));
    }
}
