//! Queries and conditions from their builders.

use std::time::UNIX_EPOCH;

use dcb_core::{AppendCondition, Event, EventType, Position, Query, QueryItem, Tag};
use uuid::Uuid;

fn item(types: &[&str], tags: &[&str]) -> QueryItem {
    let types: Vec<_> = types
        .iter()
        .map(|name| EventType::new(*name).unwrap())
        .collect();
    let tags: Vec<_> = tags.iter().map(|tag| Tag::new(*tag).unwrap()).collect();
    QueryItem::new(types, tags)
}

#[test]
fn builder_starts_a_new_item_at_each_or() {
    let query = Query::builder()
        .event_types(["B", "A", "B"])
        .tag("y")
        .tag_pair("x", 1)
        .or()
        .event_type("C")
        .or()
        .tags(["z", "z"])
        .build()
        .unwrap();
    let expected = [
        item(&["A", "B"], &["x:1", "y"]),
        item(&["C"], &[]),
        item(&[], &["z"]),
    ];
    assert_eq!(query.items(), expected);
}

#[test]
fn tags_take_anything_with_a_text() {
    let tag = |text: &str| Tag::new(text).unwrap();
    let numbers = Query::builder().tags([7, 8]).build().unwrap();
    assert_eq!(numbers.items(), [item(&[], &["7", "8"])]);
    let tags = vec![tag("a"), tag("b")];
    let from_tags = Query::builder().tags(&tags).build().unwrap();
    assert_eq!(
        from_tags,
        Query::builder().tags(["a", "b"]).build().unwrap()
    );
    assert_eq!(Query::builder().tags(tags).build().unwrap(), from_tags);
}

#[test]
fn empty_item_is_refused() {
    for builder in [
        Query::builder(),
        Query::builder().or().tag("a"),
        Query::builder().tag("a").or(),
        Query::builder().tag("a").or().or().tag("b"),
    ] {
        assert!(builder.build().is_err());
    }
}

#[test]
fn item_without_criteria_makes_the_query_match_all() {
    let query = Query::new([item(&["A"], &[]), item(&[], &[])]).unwrap();
    assert_eq!(query, Query::all());
    assert!(query.is_all());
}

#[test]
fn union_contains_each_item_once() {
    let a = Query::new([item(&["A"], &[])]).unwrap();
    let ab = Query::new([item(&["A"], &[]), item(&[], &["b"])]).unwrap();
    assert_eq!(a.clone().or(ab.clone()), ab);
    assert_eq!(ab.clone().or(a.clone()), ab);
    assert_eq!(a.clone().or(Query::all()), Query::all());
    assert_eq!(Query::all().or(a), Query::all());
}

#[test]
fn event_matches_by_type_and_tags() {
    let event = Event::builder("A").tag("x").tag("y").build().unwrap();
    let event = event.into_sequenced(Position::FIRST, UNIX_EPOCH, Uuid::from_u128(1));
    let matches = |items: &[QueryItem]| Query::new(items).unwrap().matches(&event);
    assert!(Query::all().matches(&event));
    assert!(matches(&[item(&["B", "A"], &[])]));
    assert!(matches(&[item(&["A"], &["y", "x"])]));
    assert!(matches(&[item(&["B"], &[]), item(&[], &["x"])]));
    assert!(!matches(&[item(&["A"], &["x", "z"])]));
    assert!(!matches(&[item(&["B"], &["x"]), item(&["A"], &["z"])]));
}

#[test]
fn condition_builders_produce_the_same_query() {
    let query = Query::builder().event_type("A").tag("k:v").build().unwrap();
    let condition = AppendCondition::fail_if_event_type("A", "k", "v").unwrap();
    assert_eq!(condition, AppendCondition::fail_if(query));
    assert_eq!(condition.after, None);
    let after = condition.after(Position::FIRST);
    assert_eq!(after.after, Some(Position::FIRST.into()));
    assert!(AppendCondition::fail_if_exists("k", "\0").is_err());
}
