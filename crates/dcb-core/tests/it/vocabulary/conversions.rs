//! Conversions of value types from and to text, numbers and JSON.

use dcb_core::{AppendCondition, Bookmark, Error, EventType, Position, Query, Tag};
use serde_json::{Value, from_value, json, to_value};

#[test]
fn texts_are_checked_by_every_conversion() {
    let tag: Tag = "course_id:c1".parse().unwrap();
    assert_eq!(Tag::try_from("course_id:c1").unwrap(), tag);
    assert_eq!(Tag::try_from("course_id:c1".to_owned()).unwrap(), tag);
    assert_eq!(tag.as_ref(), "course_id:c1");
    assert_eq!(String::from(tag), "course_id:c1");
    assert!("".parse::<Tag>().is_err());
    assert!(EventType::try_from("\0").is_err());
    assert!(from_value::<EventType>(json!("")).is_err());
}

#[test]
fn positions_begin_at_one() {
    let seven = Position::new(7).unwrap();
    assert_eq!("7".parse::<Position>().unwrap(), seven);
    assert_eq!(Position::try_from(7).unwrap(), seven);
    assert_eq!(u64::from(seven), 7);
    assert_eq!(from_value::<Position>(json!(7)).unwrap(), seven);
    for text in ["0", "-1", "", "7a"] {
        let refused = text.parse::<Position>();
        assert!(
            matches!(&refused, Err(Error::Invalid { field, .. }) if field == "position"),
            "{text}: {refused:?}"
        );
    }
    assert!(Position::try_from(0).is_err());
    assert!(from_value::<Position>(json!(0)).is_err());
}

#[test]
fn conditions_round_trip_through_json() {
    let query = Query::builder()
        .event_types(["B", "A"])
        .tag("y")
        .or()
        .tag("x")
        .build()
        .unwrap();
    let condition = AppendCondition::fail_if(query).after(Position::new(7).map(Bookmark::from));
    let expected = json!({
        "failIfEventsMatch": {"items": [
            {"types": ["A", "B"], "tags": ["y"]},
            {"types": [], "tags": ["x"]},
        ]},
        "after": 7,
    });
    assert_eq!(to_value(&condition).unwrap(), expected);
    assert_eq!(from_value::<AppendCondition>(expected).unwrap(), condition);
}

#[test]
fn queries_from_json_are_checked() {
    let parse = |json: Value| from_value::<Query>(json);
    assert_eq!(parse(json!({"items": []})).unwrap(), Query::all());
    let item = parse(json!({"items": [{"tags": ["b", "a", "b"]}]})).unwrap();
    assert_eq!(item, Query::builder().tags(["a", "b"]).build().unwrap());
    for refused in [
        json!({}),
        json!({"items": [{"tag": ["a"]}]}),
        json!({"items": [{"tags": [""]}]}),
        json!({"items": vec![json!({"tags": ["a"]}); 1001]}),
    ] {
        assert!(parse(refused.clone()).is_err(), "{refused}");
    }
}
