//! An append with several conditions is refused unless all of them hold. The error names the first
//! event of the log that violates a condition, and the first condition that this event violates.

use conformance_suite::assert_refused;
use dcb_core::{
    Append, AppendCondition, DecisionModel, Error, EventStore, Fault, Limits, Problem, Projector,
    Query, QueryItem, Tag, Tracking,
};
use uuid::Uuid;

use super::fixture::{at, head, many, tag, tagged};

fn unless(name: &str) -> AppendCondition {
    AppendCondition::fail_if(tag(name))
}

/// Asserts that an append under these conditions succeeds.
async fn assert_accepted(
    store: &impl EventStore,
    conditions: impl IntoIterator<Item = AppendCondition>,
) {
    let next = head(store).await + 1;
    let append = Append::new(tagged(&[])).conditions(conditions);
    assert_eq!(store.submit(append).await.unwrap().first(), at(next));
}

/// Asserts that this condition fails by the event at `position`, and that nothing is written.
async fn assert_conflict(
    store: &impl EventStore,
    conditions: impl IntoIterator<Item = AppendCondition>,
    failing: usize,
    position: u64,
) {
    let before = head(store).await;
    let append = Append::new(tagged(&[])).conditions(conditions);
    assert_refused!(
        store.submit(append).await,
        Error::Conflict { position: found, condition }
            if (*found, *condition) == (at(position), failing)
    );
    assert_eq!(head(store).await, before, "nothing is written");
}

pub(super) async fn all_conditions_must_hold(store: &impl EventStore) {
    assert_accepted(store, [unless("a"), unless("b"), unless("c")]).await;
    store.append(tagged(&["a"])).await.unwrap();
    assert_accepted(store, [unless("b"), unless("c")]).await;
    assert_conflict(store, [unless("a"), unless("b")], 0, 2).await;
    assert_conflict(store, [unless("b"), unless("a")], 1, 2).await;
    assert_conflict(store, [unless("b"), unless("c"), unless("a")], 2, 2).await;
}

pub(super) async fn each_condition_has_its_own_after(store: &impl EventStore) {
    store
        .append(["a", "b", "a", "b"].map(|tag| tagged(&[tag])))
        .await
        .unwrap();
    let seen = |a, b| [unless("a").after(at(a)), unless("b").after(at(b))];
    assert_conflict(store, seen(1, 4), 0, 3).await;
    assert_conflict(store, seen(3, 1), 1, 2).await;
    assert_conflict(store, seen(3, 2), 1, 4).await;
    assert_accepted(store, seen(4, 4)).await;
    assert_accepted(store, seen(3, 4)).await;
}

/// One state was read before the other. Each condition has the head of its own read.
pub(super) async fn states_read_at_different_times_are_protected(store: &impl EventStore) {
    let read = async |name| store.project(&Projector::counter(tag(name))).await.unwrap();
    store.append(many(2, "a")).await.unwrap();
    let a = read("a").await;
    store.append(many(2, "b")).await.unwrap();
    let b = read("b").await;
    let conditions = || [a.condition.clone(), b.condition.clone()];
    assert_accepted(store, conditions()).await;
    store.append(tagged(&["b"])).await.unwrap();
    assert_conflict(store, conditions(), 1, 6).await;
    store.append(tagged(&["a"])).await.unwrap();
    assert_conflict(store, conditions(), 1, 6).await;
    assert_conflict(store, [a.condition, read("b").await.condition], 0, 7).await;
}

pub(super) async fn condition_without_after_stands_beside_others(store: &impl EventStore) {
    store
        .append([tagged(&["a"]), tagged(&["b"])])
        .await
        .unwrap();
    let seen = unless("a").after(at(2));
    assert_accepted(store, [seen.clone(), unless("c")]).await;
    assert_conflict(store, [seen.clone(), unless("b")], 1, 2).await;
    assert_conflict(store, [unless("a"), seen], 0, 1).await;
}

pub(super) async fn conditions_on_same_query_may_differ_in_after(store: &impl EventStore) {
    store.append(many(3, "a")).await.unwrap();
    let after = |position| unless("a").after(at(position));
    assert_conflict(store, [after(2), after(1)], 1, 2).await;
    assert_conflict(store, [after(1), after(1)], 0, 2).await;
    assert_accepted(store, [after(3), after(3)]).await;
}

pub(super) async fn first_event_of_the_log_decides_which_condition_failed(store: &impl EventStore) {
    store
        .append([tagged(&["b"]), tagged(&["a"]), tagged(&["a", "b"])])
        .await
        .unwrap();
    assert_conflict(store, [unless("a"), unless("b")], 1, 1).await;
    let past_first = [unless("a").after(at(2)), unless("b").after(at(2))];
    assert_conflict(store, past_first, 0, 3).await;
    let all = AppendCondition::fail_if(Query::all());
    assert_conflict(store, [unless("a"), all.clone()], 1, 1).await;
    assert_conflict(store, [all, unless("b")], 0, 1).await;
}

pub(super) async fn every_item_of_every_condition_is_enforced(store: &impl EventStore) {
    let either = |one: &str, other: &str| AppendCondition::fail_if(tag(one).or(tag(other)));
    let conditions = || [either("a", "b"), either("c", "d"), unless("e")];
    for (index, name) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        let seen = store.head().await.unwrap();
        let conditions = || conditions().map(|condition| condition.after(seen));
        assert_accepted(store, conditions()).await;
        let appended = store.append(tagged(&[name])).await.unwrap();
        assert_conflict(store, conditions(), index / 2, appended.first().get()).await;
    }
}

pub(super) async fn after_beyond_head_is_refused_in_any_condition(store: &impl EventStore) {
    store.append(many(2, "a")).await.unwrap();
    let beyond = |position| unless("never").after(at(position));
    let within = || unless("never").after(at(2));
    for (conditions, named) in [
        (vec![beyond(3), within()], 3),
        (vec![within(), beyond(4)], 4),
        (vec![within(), beyond(6), beyond(5)], 6),
        // A violated condition does not hide an impossible one.
        (vec![unless("a"), beyond(7)], 7),
    ] {
        let answer = store
            .submit(Append::new(tagged(&[])).conditions(conditions))
            .await;
        assert_refused!(
            answer,
            Error::AfterBeyondHead { after, head } if (*after, *head) == (at(named), Some(at(2)))
        );
    }
    assert_eq!(head(store).await, 2);
}

pub(super) async fn repeated_append_ignores_all_conditions(store: &impl EventStore) {
    let event = tagged(&["a"]).with_id(Uuid::from_u128(1));
    let append = Append::new(event).conditions([unless("a"), unless("b"), unless("a")]);
    let first = store.submit(append.clone()).await.unwrap();
    store.append(tagged(&["b"])).await.unwrap();
    assert_eq!(store.submit(append.clone()).await.unwrap(), first);
    let impossible = append.condition(unless("c").after(at(99)));
    assert_eq!(store.submit(impossible).await.unwrap(), first);
    assert_eq!(head(store).await, 2);
}

pub(super) async fn tracking_is_checked_before_all_conditions(store: &impl EventStore) {
    let upstream = Tracking::new("upstream", 5).unwrap();
    let append = Append::new(tagged(&["a"])).tracking(upstream);
    store.submit(append.clone()).await.unwrap();
    let append = append.conditions([unless("b"), unless("a")]);
    assert_refused!(store.submit(append).await, Error::AlreadyTracked { .. });
}

pub(super) async fn conditions_ignore_events_of_their_append(store: &impl EventStore) {
    let conditions = [unless("a"), unless("b")];
    let events = [tagged(&["a"]), tagged(&["b"]), tagged(&["a", "b"])];
    store.append_if(events, conditions).await.unwrap();
    assert_eq!(head(store).await, 3);
}

pub(super) async fn number_and_items_of_conditions_are_limited(store: &impl EventStore) {
    let limits = Limits::default();
    let most = limits.max_conditions_per_append;
    assert_accepted(store, vec![unless("a"); most]).await;
    let append = Append::new(tagged(&[])).conditions(vec![unless("a"); most + 1]);
    assert_refused!(
        store.submit(append).await,
        Error::Invalid { field, problem: Problem::TooMany { max, actual } }
            if (field.as_str(), *max, *actual) == ("conditions", most, most + 1)
    );
    let item = |number: usize| QueryItem::new([], [Tag::pair("n", number).unwrap()]);
    let items: Vec<QueryItem> = (0..Query::MAX_ITEMS).map(item).collect();
    let large = AppendCondition::fail_if(Query::new(items).unwrap());
    let count = limits.max_condition_items / Query::MAX_ITEMS + 1;
    let append = Append::new(tagged(&[])).conditions(vec![large; count]);
    assert_refused!(
        store.submit(append).await,
        Error::Invalid { field, problem: Problem::TooMany { max, .. } }
            if (field.as_str(), *max) == ("conditions.items", limits.max_condition_items)
    );
    assert_eq!(head(store).await, 1);
}

/// Only the state whose condition failed is read again.
pub(super) async fn decision_from_two_reads_reads_what_changed(store: &impl EventStore) {
    let counter = |name| Projector::counter(tag(name));
    let model = DecisionModel::new((counter("a"), counter("b")));
    store
        .append([tagged(&["a"]), tagged(&["b"])])
        .await
        .unwrap();
    for (changed, expected) in [("a", (2, 1)), ("b", (2, 2)), ("other", (2, 2))] {
        let a = store.project(&counter("a")).await.unwrap();
        let b = store.project(&counter("b")).await.unwrap();
        store.append(tagged(&[changed])).await.unwrap();
        let mut read = (a, b);
        let afters = (read.0.condition.after, read.1.condition.after);
        let decided = model
            .decide_from(store, &mut read, |_, _| {
                Ok::<_, Error>(tagged(&["decided"]))
            })
            .await
            .unwrap();
        assert_eq!((read.0.state, read.1.state), expected);
        assert_eq!(read.0.condition.after != afters.0, changed == "a");
        assert_eq!(read.1.condition.after != afters.1, changed == "b");
        let attempts = if changed == "other" { 1 } else { 2 };
        assert_eq!(decided.attempts, attempts, "{changed}");
    }
    assert_eq!(store.count(&tag("decided")).await.unwrap(), 3);
}

/// No condition protects a refusal, so old states must not decide it.
pub(super) async fn refusal_from_old_states_is_decided_again(store: &impl EventStore) {
    let counter = |name| Projector::counter(tag(name));
    let model = DecisionModel::new((counter("a"), counter("b")));
    let refuse = |a: &u64, b: &u64| match a * b {
        0 => Err(Fault::Closed.into()),
        1 => Ok(Vec::new()),
        _ => Ok(vec![tagged(&["decided"])]),
    };
    let a = store.project(&counter("a")).await.unwrap();
    let b = store.project(&counter("b")).await.unwrap();
    let mut read = (a, b);
    let refused = model.decide_from(store, &mut read, refuse).await;
    assert_refused!(refused, Error::Fault(Fault::Closed));
    store
        .append([tagged(&["a"]), tagged(&["b"])])
        .await
        .unwrap();
    let nothing = model.decide_from(store, &mut read, refuse).await.unwrap();
    assert_eq!((nothing.appended, nothing.attempts), (None, 3));
    store.append(tagged(&["b"])).await.unwrap();
    let decided = model.decide_from(store, &mut read, refuse).await.unwrap();
    assert_eq!(
        decided.appended.map(|appended| appended.first()),
        Some(at(4))
    );
    assert_eq!((read.0.state, read.1.state, decided.attempts), (1, 2, 2));
}

/// With events and without, the event of the second state comes first in the log.
pub(super) async fn decision_from_old_states_names_the_earliest_event(store: &impl EventStore) {
    let counter = |name| Projector::counter(tag(name));
    let model = DecisionModel::new((counter("a"), counter("b"))).max_attempts(1);
    let a = store.project(&counter("a")).await.unwrap();
    let b = store.project(&counter("b")).await.unwrap();
    store
        .append([tagged(&["b"]), tagged(&["a"])])
        .await
        .unwrap();
    for events in [Vec::new(), vec![tagged(&["decided"])]] {
        let mut read = (a.clone(), b.clone());
        let decide = |_: &u64, _: &u64| Ok::<_, Error>(events.clone());
        let refused = model.decide_from(store, &mut read, decide).await;
        assert_refused!(
            refused,
            Error::RetriesExhausted { position, .. } if *position == at(1)
        );
    }
}
