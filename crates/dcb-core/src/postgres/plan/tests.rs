//! Batches planned and settled by hand, and random ones against the store in memory.

use proptest::prelude::*;

use super::*;
use crate::{Append, AppendCondition, Event, EventStore as _, MemoryStore, Query, Tracking};

fn event(tag: &str) -> Event {
    let event = Event::builder("Happened").tag(tag).build();
    event.expect("the event is valid")
}

fn unless(tag: &str) -> AppendCondition {
    let query = Query::builder().tag(tag).build();
    AppendCondition::fail_if(query.expect("the query is valid"))
}

fn batch(appends: impl IntoIterator<Item = Append>) -> Vec<Request> {
    appends.into_iter().map(Request::new).collect()
}

fn at(number: u64) -> Position {
    Position::new(number).expect("positions begin at 1")
}

fn answer(head: u64, refusals: impl IntoIterator<Item = (usize, Refusal)>) -> Answer {
    Answer {
        head,
        refusals: refusals.into_iter().collect(),
    }
}

/// What became of each request, in words.
fn settled(batch: &[Request], answer: &Answer) -> Vec<String> {
    let settled = Plan::of(batch).settle(batch, answer);
    let words = settled.into_iter().map(|settled| match settled {
        Settled::Done(Ok(appended)) => format!("{}-{}", appended.first(), appended.last()),
        Settled::Done(Err(Error::Conflict { position })) => format!("conflict {position}"),
        Settled::Done(Err(error)) => error.to_string(),
        Settled::Stored => "stored".to_owned(),
        Settled::Again => "again".to_owned(),
    });
    words.collect()
}

fn sent(batch: &[Request]) -> Vec<bool> {
    let plan = Plan::of(batch);
    (0..batch.len()).map(|index| plan.is_sent(index)).collect()
}

#[test]
fn requests_follow_each_other() {
    let batch = batch([
        Append::new([event("a"), event("b")]),
        Append::new(event("a")),
        Append::new([event("c"), event("c")]),
    ]);
    assert_eq!(sent(&batch), [true; 3]);
    assert_eq!(settled(&batch, &answer(0, [])), ["1-2", "3-3", "4-5"]);
    assert_eq!(settled(&batch, &answer(7, [])), ["8-9", "10-10", "11-12"]);
}

#[test]
fn a_refused_request_takes_no_positions() {
    let batch = batch([
        Append::new(event("a")),
        Append::new([event("b"), event("b")]).condition(unless("b")),
        Append::new(event("c")),
    ]);
    let conflict = Refusal::Conflict { position: at(3) };
    assert_eq!(
        settled(&batch, &answer(5, [(1, conflict)])),
        ["6-6", "conflict 3", "7-7"]
    );
}

#[test]
fn a_request_is_held_by_an_earlier_one_that_it_excludes() {
    let batch = batch([
        Append::new([event("a"), event("b")]),
        Append::new(event("c")).condition(unless("b")),
        Append::new(event("d")).condition(unless("d")),
    ]);
    assert_eq!(sent(&batch), [true, false, true]);
    assert_eq!(
        settled(&batch, &answer(10, [])),
        ["11-12", "conflict 12", "13-13"]
    );
}

#[test]
fn a_held_request_goes_again_if_what_held_it_was_refused() {
    let batch = batch([
        Append::new(event("b")).condition(unless("a")),
        Append::new(event("c")).condition(unless("b")),
    ]);
    let conflict = Refusal::Conflict { position: at(1) };
    assert_eq!(
        settled(&batch, &answer(1, [(0, conflict)])),
        ["conflict 1", "again"]
    );
}

#[test]
fn a_held_request_meets_the_first_that_was_committed() {
    let batch = batch([
        Append::new(event("b")).condition(unless("a")),
        Append::new(event("b")),
        Append::new(event("b")),
        Append::new(event("c")).condition(unless("b")),
    ]);
    let conflict = Refusal::Conflict { position: at(1) };
    assert_eq!(
        settled(&batch, &answer(1, [(0, conflict)])),
        ["conflict 1", "2-2", "3-3", "conflict 2"]
    );
}

#[test]
fn what_the_server_refused_is_not_held_against_the_batch() {
    let batch = batch([
        Append::new(event("b")),
        Append::new(event("c")).condition(unless("b")),
    ]);
    let conflict = Refusal::Conflict { position: at(4) };
    assert_eq!(
        settled(&batch, &answer(9, [(1, conflict)])),
        ["10-10", "conflict 4"]
    );
}

#[test]
fn a_held_request_holds_nobody() {
    let batch = batch([
        Append::new(event("a")),
        Append::new(event("b")).condition(unless("a")),
        Append::new(event("c")).condition(unless("b")),
    ]);
    assert_eq!(sent(&batch), [true, false, true]);
    assert_eq!(
        settled(&batch, &answer(0, [])),
        ["1-1", "conflict 1", "2-2"]
    );
}

#[test]
fn a_condition_on_everything_is_held_by_anything() {
    let all = AppendCondition::fail_if(Query::all());
    let batch = batch([
        Append::new(event("a")).condition(all.clone()),
        Append::new(event("b")).condition(all),
    ]);
    assert_eq!(sent(&batch), [true, false]);
    assert_eq!(settled(&batch, &answer(0, [])), ["1-1", "conflict 1"]);
}

#[test]
fn one_id_or_one_source_in_two_requests_takes_two_batches() {
    let id = Uuid::from_u128(1);
    let tracking = || Tracking::new("source", 1).expect("the tracking is valid");
    let batch = batch([
        Append::new(event("a").with_id(id)).tracking(tracking()),
        Append::new(event("a").with_id(id)),
        Append::new(event("a")).tracking(tracking()),
    ]);
    assert_eq!(sent(&batch), [true, false, false]);
    assert_eq!(settled(&batch, &answer(0, [])), ["1-1", "again", "again"]);
}

#[test]
fn each_refusal_has_its_answer() {
    let tracking = Tracking::new("source", 1).expect("the tracking is valid");
    let batch = batch([
        Append::new(event("a").with_id(Uuid::from_u128(1))),
        Append::new(event("a")).condition(unless("b").after(at(9))),
        Append::new(event("a")).tracking(tracking),
    ]);
    let refusals = [
        Refusal::Stored,
        Refusal::AfterBeyondHead,
        Refusal::AlreadyTracked { tracked: 5 },
    ];
    assert_eq!(
        settled(&batch, &answer(3, refusals.into_iter().enumerate())),
        [
            "stored",
            "position 9 is beyond the head 3",
            "5 was tracked for source already"
        ]
    );
}

/// Appends with events of up to three tags, and conditions on one or two of them or on everything.
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
            .after(after.and_then(Position::new))
    });
    let append = (
        prop::collection::vec(tag(), 1..4),
        prop::option::of(condition),
    );
    let append = append.prop_map(|(tags, condition)| Append {
        condition,
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

/// What the server answers: each condition against the log before the batch.
async fn answer_of(before: &[Append], batch: &[Append]) -> Answer {
    let head = before.iter().map(|append| append.events.len() as u64).sum();
    let mut refusals = HashMap::new();
    for (index, append) in batch.iter().enumerate() {
        let refusal = match store_of(before).await.submit(append.clone()).await {
            Ok(_) => continue,
            Err(Error::Conflict { position }) => Refusal::Conflict { position },
            Err(Error::AfterBeyondHead { .. }) => Refusal::AfterBeyondHead,
            Err(error) => panic!("{error}"),
        };
        refusals.insert(index, refusal);
    }
    Answer { head, refusals }
}

/// The batch settles as if its requests had come one after the other, without those that go again.
/// An `after` beyond the head is told by the head before the batch.
async fn check_one_after_the_other(before: Vec<Append>, appends: Vec<Append>) {
    let answer = answer_of(&before, &appends).await;
    let requests = batch(appends.clone());
    let settled = Plan::of(&requests).settle(&requests, &answer);
    let oracle = store_of(&before).await;
    for (append, settled) in appends.into_iter().zip(settled) {
        match settled {
            Settled::Again | Settled::Done(Err(Error::AfterBeyondHead { .. })) => {}
            Settled::Done(result) => {
                let expected = oracle.submit(append).await;
                assert_eq!(format!("{result:?}"), format!("{expected:?}"));
            }
            Settled::Stored => panic!("no request has an id"),
        }
    }
}

proptest! {
    #[test]
    fn a_batch_settles_as_one_request_after_the_other(before in appends(), batch in appends()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(check_one_after_the_other(before, batch));
    }
}
