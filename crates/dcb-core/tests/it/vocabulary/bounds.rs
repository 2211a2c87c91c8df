//! Every field has bounds, and an error names the field that exceeds them.

use dcb_core::{
    Append, AppendCondition, Error, Event, EventBuilder, EventType, Limits, Position, Problem,
    Query, QueryItem, Tag, Tracking,
};
use uuid::Uuid;

fn assert_invalid<T: std::fmt::Debug>(answer: Result<T, Error>, field: &str, problem: Problem) {
    match answer {
        Err(Error::Invalid {
            field: named,
            problem: found,
        }) => {
            assert_eq!((named.as_str(), found), (field, problem));
        }
        other => panic!("{field}: {other:?}"),
    }
}

fn too_long(max: usize) -> Problem {
    Problem::TooLong {
        max,
        actual: max + 1,
    }
}

/// A text of `chars` three-byte characters. Bounds count characters, not bytes.
fn longest(chars: usize) -> String {
    "語".repeat(chars)
}

/// Asserts that `make` accepts texts of 1 to `max` characters and nothing else.
fn assert_bounds<T: std::fmt::Debug>(
    make: impl Fn(String) -> Result<T, Error>,
    field: &str,
    max: usize,
) {
    assert_invalid(make(String::new()), field, Problem::Empty);
    make("a".to_owned()).unwrap();
    make(longest(max)).unwrap();
    assert_invalid(make(longest(max) + "a"), field, too_long(max));
    assert_invalid(make("a\0b".to_owned()), field, Problem::ContainsNul);
}

fn event() -> EventBuilder {
    Event::builder("Happened")
}

#[test]
fn types_have_1_to_255_characters() {
    assert_bounds(EventType::new, "type", 255);
    assert_bounds(|text| Event::builder(text).build(), "type", 255);
    assert_bounds(
        |text| Query::builder().event_type(&text).build(),
        "type",
        255,
    );
}

#[test]
fn tags_have_1_to_1024_characters() {
    assert_bounds(Tag::new, "tags", 1024);
    assert_bounds(|text| event().tag(text).build(), "tags", 1024);
    assert_bounds(|text| Query::builder().tag(text).build(), "tags", 1024);
    assert_eq!(Tag::pair("course_id", 7).unwrap().as_str(), "course_id:7");
}

#[test]
fn metadata_keys_are_bounded_and_unique_and_values_reject_nul() {
    assert_bounds(|text| event().metadata(text, "v").build(), "metadata", 1024);
    event()
        .metadata("k", "")
        .metadata("l", longest(5000))
        .build()
        .unwrap();
    let nul = event().metadata("k", "\0").build();
    assert_invalid(nul, "metadata", Problem::ContainsNul);
    let twice = event()
        .metadata("k", "1")
        .metadata("l", "2")
        .metadata("k", "1")
        .build();
    assert_invalid(
        twice,
        "metadata",
        Problem::Duplicate {
            key: "k".to_owned(),
        },
    );
}

#[test]
fn tracking_sources_and_positions_are_bounded() {
    assert_bounds(|text| Tracking::new(text, 1), "tracking.source", 255);
    let max = i64::MAX as u64;
    Tracking::new("upstream", max).unwrap();
    let problem = Problem::TooLarge {
        max,
        actual: max + 1,
    };
    assert_invalid(
        Tracking::new("upstream", max + 1),
        "tracking.position",
        problem,
    );
}

#[test]
fn queries_have_1_to_1000_items() {
    let item = |number| QueryItem::new([], [Tag::pair("n", number).unwrap()]);
    let items = |count| (0..count).map(item).collect::<Vec<_>>();
    assert_invalid(Query::new(Vec::new()), "query.items", Problem::Empty);
    Query::new(items(1000)).unwrap();
    let problem = Problem::TooMany {
        max: 1000,
        actual: 1001,
    };
    assert_invalid(Query::new(items(1001)), "query.items", problem);
}

#[test]
fn unserializable_data_is_an_invalid_field() {
    let not_json = std::collections::HashMap::from([((1, 2), 3)]);
    match event().json(&not_json).build() {
        Err(Error::Invalid {
            field,
            problem: Problem::Malformed { .. },
        }) => {
            assert_eq!(field, "data");
        }
        other => panic!("answered {other:?}"),
    }
    let number = event().data("12").build().unwrap();
    assert!(matches!(number.json::<String>(), Err(Error::Json { .. })));
}

#[test]
fn first_problem_of_an_event_is_reported() {
    let event = Event::builder("").tag("").metadata("", "").build();
    assert_invalid(event, "type", Problem::Empty);
}

#[test]
fn append_is_checked_against_the_limits() {
    let limits = Limits {
        max_events_per_append: 2,
        max_event_bytes: 20,
        max_append_bytes: 30,
        ..Limits::default()
    };
    let event_of = |bytes: usize| event().data(vec![0; bytes - 8]).build().unwrap();
    let check = |events: Vec<Event>| limits.check(&Append::new(events));
    check(vec![event_of(20), event_of(8)]).unwrap();
    assert_invalid(check(vec![]), "events", Problem::Empty);
    let problem = Problem::TooMany { max: 2, actual: 3 };
    assert_invalid(check(vec![event_of(8); 3]), "events", problem);
    let problem = Problem::TooLarge {
        max: 20,
        actual: 21,
    };
    assert_invalid(
        check(vec![event_of(20), event_of(21)]),
        "events[1]",
        problem,
    );
    let problem = Problem::TooLarge {
        max: 30,
        actual: 31,
    };
    assert_invalid(check(vec![event_of(20), event_of(11)]), "events", problem);
}

#[test]
fn conditions_are_checked_against_the_limits() {
    let limits = Limits {
        max_conditions_per_append: 2,
        max_condition_items: 5,
        ..Limits::default()
    };
    let on = |items: Vec<QueryItem>| AppendCondition::fail_if(Query::new(items).unwrap());
    let by_tag = |name: &str| QueryItem::new([], [Tag::new(name).unwrap()]);
    let by_types = |names: &[&str]| {
        let types = names.iter().map(|name| EventType::new(*name).unwrap());
        QueryItem::new(types.collect::<Vec<_>>(), [])
    };
    let check = |conditions: Vec<AppendCondition>| {
        let event = event().build().unwrap();
        limits.check(&Append::new(event).conditions(conditions))
    };
    let all = || AppendCondition::fail_if(Query::all());
    check(vec![]).unwrap();
    check(vec![all(), all()]).unwrap();
    let problem = Problem::TooMany { max: 2, actual: 3 };
    assert_invalid(check(vec![all(), all(), all()]), "conditions", problem);
    let three = || on(vec![by_tag("a"), by_types(&["A", "B"])]);
    let two = || on(vec![by_tag("a"), by_tag("b")]);
    check(vec![three(), two()]).unwrap();
    let problem = Problem::TooMany { max: 5, actual: 6 };
    assert_invalid(check(vec![three(), three()]), "conditions.items", problem);
}

#[test]
fn first_repeated_id_of_an_append_is_named() {
    let ids = |numbers: &[u128]| -> Vec<Event> {
        let event = |number: &u128| event().id(Uuid::from_u128(*number)).build().unwrap();
        numbers.iter().map(event).collect()
    };
    for (numbers, repeated) in [
        (vec![1, 1], 1),
        (vec![3, 2, 1, 2, 3], 3),
        (vec![9, 5, 5], 5),
    ] {
        let answer = Limits::default().check(&Append::new(ids(&numbers)));
        match answer {
            Err(Error::DuplicateId { id }) => assert_eq!(id, Uuid::from_u128(repeated)),
            other => panic!("{numbers:?}: {other:?}"),
        }
    }
    Limits::default()
        .check(&Append::new(ids(&[3, 1, 2])))
        .unwrap();
}

#[test]
fn positions_begin_at_one() {
    assert_eq!(Position::new(0), None);
    assert_eq!(Position::FIRST.get(), 1);
    assert_eq!(Position::FIRST.next(), Position::new(2).unwrap());
    assert_eq!(Position::number_or_zero(None), 0);
    assert_eq!(Position::new(7).unwrap().to_string(), "7");
}

/// A value whose `Display` implementation fails.
struct FailingDisplay;

impl std::fmt::Display for FailingDisplay {
    fn fmt(&self, _formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Err(std::fmt::Error)
    }
}

#[test]
fn tag_pair_with_failing_display_is_malformed() {
    let malformed = || Problem::Malformed {
        reason: "its Display implementation failed".to_owned(),
    };
    assert_invalid(Tag::pair("key", FailingDisplay), "tags", malformed());
    let event = Event::builder("Happened").tag_pair("key", FailingDisplay);
    assert_invalid(event.build(), "tags", malformed());
    let query = Query::builder().tag_pair("key", FailingDisplay);
    assert_invalid(query.build(), "tags", malformed());
}
