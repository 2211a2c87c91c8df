//! A condition refuses an append if any event after `after` matches the query.

use conformance_suite::assert_refused;
use dcb_core::{AppendCondition, Bookmark, Error, EventStore, Position, Query, QueryItem, Tag};

use super::fixture::{at, event, head, many, query, tag, tagged};

/// Asserts that an append under this condition conflicts with the event at `position`.
async fn assert_conflict(store: &impl EventStore, condition: AppendCondition, position: u64) {
    let before = head(store).await;
    let answer = store.append_if(tagged(&[]), condition).await;
    assert_refused!(
        answer,
        Error::Conflict { position: found, condition: 0 } if *found == at(position)
    );
    assert_eq!(head(store).await, before, "nothing is written");
}

/// Asserts that an append under this condition succeeds.
async fn assert_accepted(store: &impl EventStore, condition: AppendCondition) {
    let next = head(store).await + 1;
    let appended = store.append_if(tagged(&[]), condition).await.unwrap();
    assert_eq!(appended.first(), at(next));
}

pub(super) async fn condition_without_after_conflicts_with_any_match(store: &impl EventStore) {
    assert_accepted(store, AppendCondition::fail_if(tag("a"))).await;
    store.append(tagged(&["a"])).await.unwrap();
    store.append(many(3, "other")).await.unwrap();
    assert_conflict(store, AppendCondition::fail_if(tag("a")), 2).await;
    assert_accepted(store, AppendCondition::fail_if(tag("b"))).await;
}

pub(super) async fn after_is_exclusive(store: &impl EventStore) {
    store.append(many(2, "a")).await.unwrap();
    assert_conflict(store, AppendCondition::fail_if(tag("a")).after(at(1)), 2).await;
    assert_accepted(store, AppendCondition::fail_if(tag("a")).after(at(2))).await;
}

pub(super) async fn after_up_to_the_head_is_accepted(store: &impl EventStore) {
    store
        .append([
            tagged(&["b"]),
            tagged(&["a"]),
            tagged(&["b"]),
            tagged(&["b"]),
        ])
        .await
        .unwrap();
    assert_conflict(store, AppendCondition::fail_if(tag("a")).after(at(1)), 2).await;
    for after in 2..=4 {
        assert_accepted(store, AppendCondition::fail_if(tag("a")).after(at(after))).await;
    }
    assert_accepted(
        store,
        AppendCondition::fail_if(tag("a")).after(store.head().await.unwrap()),
    )
    .await;
}

pub(super) async fn after_beyond_the_head_is_refused(store: &impl EventStore) {
    for events in 0..2 {
        let last = Position::new(events);
        // SQL backends store positions as i64, so larger positions take another path.
        for beyond in [events + 1, events + 100, i64::MAX as u64 + 1, u64::MAX] {
            let condition = AppendCondition::fail_if(tag("a")).after(at(beyond));
            let answer = store.append_if(tagged(&["a"]), condition).await;
            assert_refused!(
                answer,
                Error::AfterBeyondHead { after, head } if (*after, *head) == (at(beyond), last)
            );
        }
        assert_eq!(head(store).await, events);
        store.append(tagged(&["a"])).await.unwrap();
    }
}

pub(super) async fn conflict_returns_first_match_past_after(store: &impl EventStore) {
    store
        .append(["a", "b", "a", "b", "a"].map(|tag| tagged(&[tag])))
        .await
        .unwrap();
    let either = tag("b").or(tag("a"));
    for after in 0..5 {
        let condition = AppendCondition::fail_if(either.clone())
            .after(Position::new(after).map(Bookmark::from));
        assert_conflict(store, condition, after + 1).await;
    }
    assert_conflict(store, AppendCondition::fail_if(tag("b")).after(at(2)), 4).await;
}

pub(super) async fn query_all_is_a_valid_condition(store: &impl EventStore) {
    assert_accepted(store, AppendCondition::fail_if(Query::all())).await;
    assert_conflict(store, AppendCondition::fail_if(Query::all()), 1).await;
    assert_accepted(store, AppendCondition::fail_if(Query::all()).after(at(1))).await;
    store.append(event("Other", &["other"])).await.unwrap();
    assert_conflict(
        store,
        AppendCondition::fail_if(Query::all()).after(at(2)),
        3,
    )
    .await;
    assert_accepted(store, AppendCondition::fail_if(Query::all()).after(at(3))).await;
}

pub(super) async fn each_query_item_is_enforced(store: &impl EventStore) {
    let tags = ["a", "b", "c"];
    let boundary = tags.map(tag).into_iter().reduce(Query::or).unwrap();
    for (index, item) in tags.iter().enumerate() {
        let after = store.head().await.unwrap();
        let seen = index as u64;
        assert_eq!(after.map_or(0, |head| head.position.get()), seen);
        store.append(tagged(&[item])).await.unwrap();
        let condition = AppendCondition::fail_if(boundary.clone()).after(after);
        assert_conflict(store, condition, seen + 1).await;
    }
}

pub(super) async fn maximum_number_of_query_items_is_enforced(store: &impl EventStore) {
    let item = |number: usize| QueryItem::new([], [Tag::pair("n", number).unwrap()]);
    let items: Vec<QueryItem> = (0..Query::MAX_ITEMS).map(item).collect();
    let boundary = Query::new(items).unwrap();
    let last = format!("n:{}", Query::MAX_ITEMS - 1);
    assert_accepted(store, AppendCondition::fail_if(boundary.clone())).await;
    store.append(tagged(&[&last])).await.unwrap();
    assert_conflict(store, AppendCondition::fail_if(boundary), 2).await;
}

pub(super) async fn item_matches_type_and_tags_in_one_event(store: &impl EventStore) {
    let events = [
        event("A", &["x"]),
        event("A", &["y"]),
        event("B", &["x", "y"]),
    ];
    store.append(events).await.unwrap();
    assert_accepted(store, AppendCondition::fail_if(query(&["A"], &["x", "y"]))).await;
    assert_conflict(
        store,
        AppendCondition::fail_if(query(&["A", "B"], &["x", "y"])),
        3,
    )
    .await;
    assert_conflict(store, AppendCondition::fail_if(query(&["A"], &["y"])), 2).await;
    assert_conflict(store, AppendCondition::fail_if(query(&["B"], &[])), 3).await;
}

pub(super) async fn condition_ignores_events_of_its_append(store: &impl EventStore) {
    let condition = AppendCondition::fail_if(tag("a"));
    store.append_if(many(3, "a"), condition).await.unwrap();
    assert_eq!(head(store).await, 3);
}

pub(super) async fn fail_if_exists_builders_match_type_and_tag(store: &impl EventStore) {
    store
        .append(event("UserRegistered", &["email:a@b.c"]))
        .await
        .unwrap();
    let taken = AppendCondition::fail_if_exists("email", "a@b.c").unwrap();
    assert_conflict(store, taken, 1).await;
    assert_accepted(
        store,
        AppendCondition::fail_if_exists("email", "other").unwrap(),
    )
    .await;
    let of_type = |name| AppendCondition::fail_if_event_type(name, "email", "a@b.c").unwrap();
    assert_conflict(store, of_type("UserRegistered"), 1).await;
    assert_accepted(store, of_type("UserDeleted")).await;
}
