//! Value types: validation, and equality of JSON.

use message_conformance::NAMES;
use message_store::{
    Bookmark, Category, ConsumerGroup, Error, ExpectedVersion, GlobalPosition, Message,
    NamespaceName, Position, Problem, StreamName, same_json,
};

#[test]
fn equal_json_values_are_same() {
    for (a, b) in [
        ("1", "1.0"),
        ("1", "10e-1"),
        ("-0", "0.000e7"),
        ("120", "1.2E+2"),
        (
            r#"{"a":1,"b":[2,3]}"#,
            "{ \"b\" : [ 2 , 3.0 ] ,\n\"a\" : 1 }",
        ),
        (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
        (r#""\u0041\/""#, r#""A/""#),
        (
            "123456789012345678901234567890",
            "1.2345678901234567890123456789e29",
        ),
    ] {
        assert!(same_json(a, b) && same_json(b, a), "{a} is {b}");
    }
}

#[test]
fn different_json_values_are_not_same() {
    for (a, b) in [
        ("1", "-1"),
        ("1", "10"),
        ("1", "\"1\""),
        ("0", "null"),
        ("0", "false"),
        ("[]", "{}"),
        ("[1,2]", "[2,1]"),
        ("[1]", "[1,1]"),
        (r#"{"a":1}"#, r#"{"a":1,"b":null}"#),
        (r#"{"a":1}"#, r#"{"b":1}"#),
        ("9007199254740993", "9007199254740992"),
        ("1e400", "1e401"),
        (r#""a""#, r#""A""#),
    ] {
        assert!(!same_json(a, b) && !same_json(b, a), "{a} is not {b}");
    }
}

#[test]
fn data_is_one_json_value_of_bounded_depth() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let build = |text: &str| Message::builder("T").data_json(text).build();
    build(&nested(127)).unwrap();
    build(&format!("{:?}", nested(500))).unwrap();
    for wrong in [
        "",
        "{",
        "1 2",
        "{'a':1}",
        "NaN",
        "\u{feff}1",
        &nested(128),
        &nested(500_000),
    ] {
        let refused = build(wrong);
        assert!(
            matches!(
                &refused,
                Err(Error::Invalid { field, problem: Problem::Malformed { .. } }) if field == "data"
            ),
            "{refused:?}"
        );
    }
    let refused = Message::builder("T").metadata_json("{").build();
    assert!(matches!(refused, Err(Error::Invalid { field, .. }) if field == "metadata"));
    let refused = Message::builder("").build();
    assert!(matches!(refused, Err(Error::Invalid { field, .. }) if field == "type"));
}

#[test]
fn stream_name_splits_at_first_separators() {
    let name = StreamName::new("account:command-123+456+7-8").unwrap();
    assert_eq!(name.category(), "account:command");
    assert_eq!(name.id(), Some("123+456+7-8"));
    assert_eq!(name.cardinal_id(), Some("123"));
    assert_eq!(StreamName::new("a--").unwrap().id(), Some("-"));
    assert_eq!(StreamName::new("a-+").unwrap().cardinal_id(), Some(""));
    assert!(Category::new("a-b").is_err());
    assert!(Category::new("").unwrap().is_all());
}

#[test]
fn stream_names_have_parts_of_message_db() {
    for parts in NAMES {
        let name = StreamName::new(parts.name).unwrap();
        assert_eq!(name.category(), parts.category, "{parts:?}");
        assert_eq!(name.id(), parts.id, "{parts:?}");
        assert_eq!(name.cardinal_id(), parts.cardinal_id, "{parts:?}");
    }
}

/// If they were equal, expiring the category of such a stream would delete from the whole store.
#[test]
fn category_with_empty_name_is_not_all_messages() {
    let unnamed = Category::of(&StreamName::new("-1").unwrap());
    assert_eq!(unnamed.as_str(), "");
    assert_ne!(unnamed, Category::all());
    assert!(unnamed.includes("-2") && !unnamed.includes("a-1"));
    assert!(Category::all().includes("-2") && Category::all().includes("a-1"));
    assert_eq!(StreamName::with_id(&unnamed, 2).unwrap().as_str(), "-2");
    assert!(StreamName::with_id(&Category::all(), 2).is_err());
}

#[test]
fn invalid_consumer_group_is_refused() {
    for (member, size, wrong) in [
        (0, 0, "consumer_group.size"),
        (0, -1, "consumer_group.size"),
        (-1, 2, "consumer_group.member"),
        (2, 2, "consumer_group.member"),
    ] {
        let refused = ConsumerGroup::new(member, size);
        assert!(matches!(&refused, Err(Error::Invalid { field, .. }) if field == wrong));
    }
}

#[test]
fn expected_versions_map_to_message_db_numbers() {
    for (number, expected) in [
        (None, ExpectedVersion::Any),
        (Some(-1), ExpectedVersion::NoStream),
        (Some(0), ExpectedVersion::Exact(Position::START)),
    ] {
        assert_eq!(ExpectedVersion::from_number(number).unwrap(), expected);
        assert_eq!(expected.number(), number);
    }
    assert!(ExpectedVersion::from_number(Some(-2)).is_err());
}

#[test]
fn names_are_checked_by_every_conversion() {
    let name: StreamName = "account-1".parse().unwrap();
    assert_eq!(StreamName::try_from("account-1").unwrap(), name);
    assert_eq!(StreamName::try_from("account-1".to_owned()).unwrap(), name);
    assert_eq!(name.as_ref(), "account-1");
    let json = serde_json::to_value(&name).unwrap();
    assert_eq!(json, "account-1");
    assert_eq!(serde_json::from_value::<StreamName>(json).unwrap(), name);
    assert_eq!(String::from(name), "account-1");
    assert!(serde_json::from_str::<StreamName>("\"\"").is_err());
    assert!(Category::try_from("a-b").is_err());
    assert!("".parse::<NamespaceName>().is_err());
}

#[test]
fn positions_convert_to_numbers_and_text() {
    let seven = GlobalPosition::new(7);
    assert_eq!("7".parse::<GlobalPosition>().unwrap(), seven);
    assert_eq!(GlobalPosition::from(u64::from(seven)), seven);
    assert_eq!(serde_json::to_string(&seven).unwrap(), "7");
    let refused = "-1".parse::<GlobalPosition>();
    assert!(matches!(&refused, Err(Error::Invalid { field, .. }) if field == "global_position"));
}

#[test]
fn bookmarks_convert_to_text_and_json() {
    let seven = GlobalPosition::new(7);
    let text = "7@00000000-0000-0000-0000-000000000001";
    let bookmark = Bookmark::new(seven, uuid::Uuid::from_u128(1));
    for (bookmark, text, json) in [
        (bookmark, text, serde_json::json!(text)),
        (Bookmark::from(seven), "7", serde_json::json!(7)),
    ] {
        assert_eq!(bookmark.to_string(), text);
        assert_eq!(text.parse::<Bookmark>().unwrap(), bookmark);
        assert_eq!(serde_json::to_value(bookmark).unwrap(), json);
        let read: Bookmark = serde_json::from_value(json).unwrap();
        assert_eq!(read, bookmark);
    }
    for wrong in [
        "",
        "-1",
        "@",
        "7@",
        "7@x",
        "x@00000000-0000-0000-0000-000000000001",
    ] {
        let refused = wrong.parse::<Bookmark>();
        assert!(matches!(&refused, Err(Error::Invalid { field, .. }) if field == "bookmark"));
    }
}
