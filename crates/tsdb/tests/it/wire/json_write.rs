use crate::support::wire::{contents, db};
use tsdb::wire::Ingested;
use tsdb::wire::json::{Answer, ingest, write};
use tsdb::{Db, DbOptions, DuplicatePolicy};

fn answer(body: &str) -> (u16, String) {
    let Answer { status, body } = write(&db(), body.as_bytes());
    (status, body.into_owned())
}

#[test]
fn point_or_array_is_written() {
    let db = db();
    let one = br#"{"metric":"cpu","timestamp":1700000000000,"value":42.5,"tags":{"host":"a"}}"#;
    assert_eq!(
        write(&db, one),
        Answer {
            status: 200,
            body: r#"{"written":1}"#.into()
        }
    );
    let two = br#" [ {"value" : -1e-3, "timestamp":-5 ,"metric":"mem"},
        {"metric":"cpu","timestamp":0,"value":0,"tags":null,"unknown":[{"a":[]},true,"x"]} ] "#;
    assert_eq!(write(&db, two).body, r#"{"written":2}"#);
    assert_eq!(
        contents(&db),
        [
            "cpu 0:0",
            "cpu{host=\"a\"} 1700000000000:42.5",
            "mem -5:-0.001"
        ],
    );
    assert_eq!(answer("[]"), (200, r#"{"written":0}"#.into()));
}

#[test]
fn strings_are_unescaped() {
    let db = db();
    let body = r#"{"m\u0065tric":"a\"\\\/\n\u00e9","timestamp":1,"value":1,"tags":{"\ud83d\ude00":"\ud800"}}"#;
    assert_eq!(write(&db, body.as_bytes()).status, 200);
    let labels = db.list_series(&[]).remove(0);
    assert_eq!(labels.metric(), "a\"\\/\né");
    assert_eq!(labels.get("😀"), Some("\u{fffd}"));
}

#[test]
fn last_of_repeated_fields_counts() {
    let db = db();
    let body = br#"[{"metric":"a","timestamp":1,"value":1},
        {"metric":"b","metric":"a","timestamp":3,"timestamp":2,"value":1,"value":2,"tags":{"x":"1"},"tags":{}},
        {"metric":"a","tags":{"x":"1"},"timestamp":1,"value":1}]"#;
    assert_eq!(write(&db, body).status, 200);
    assert_eq!(contents(&db), ["a 1:1 2:2", "a{x=\"1\"} 1:1"]);
}

/// If a point has the same form as the one before, only its numbers are parsed.
#[test]
fn points_in_equal_and_different_forms_are_read() {
    let db = db();
    let body = br#"[{"metric":"a","timestamp":1,"value":1.5},{"metric":"a","timestamp":2,"value":-2e1},
        {"metric":"a","timestamp":1700000000003,"value":0.25} ,
        {"metric":"a", "value":4, "timestamp":4},{"metric":"a", "value":5.5, "timestamp":5},
        {"metric":"a","timestamp":6,"value":6,"tags":{"x":"1"}},
        {"metric":"a","timestamp":7,"value":7,"tags":{"x":"2"}},
        {"metric":"a","timestamp":8,"value":8,"tags":{"x":"2"}},{"metric":"a","timestamp":9,"value":9}]"#;
    assert_eq!(write(&db, body).body, r#"{"written":9}"#);
    assert_eq!(
        contents(&db),
        [
            "a 1:1.5 2:-20 4:4 5:5.5 9:9 1700000000003:0.25",
            "a{x=\"1\"} 6:6",
            "a{x=\"2\"} 7:7 8:8",
        ]
    );
}

#[test]
fn wrong_point_after_similar_point_is_refused() {
    let good = r#"{"metric":"m","timestamp":1,"value":1}"#;
    for wrong in [
        r#"{"metric":"m","timestamp":1.5,"value":1}"#,
        r#"{"metric":"m","timestamp":1,"value":1e999}"#,
        r#"{"metric":"m","timestamp":99999999999999999999,"value":1}"#,
        "1",
    ] {
        let (status, body) = answer(&format!("[{good},{wrong},{good}]"));
        assert_eq!(status, 206, "{wrong}: {body}");
        assert!(body.starts_with(r#"{"written":2,"errors":[{"index":1,"#));
    }
    for malformed in [
        r#"{"metric":"m","timestamp":01,"value":1}"#,
        r#"{"metric":"m","timestamp":1,"value":1.}"#,
        r#"{"metric":"m","timestamp":1,"value":1"#,
        "1-2",
    ] {
        assert_eq!(answer(&format!("[{good},{malformed}]")).0, 400);
        assert_eq!(answer(&format!("[{malformed}]")).0, 400);
    }
}

#[test]
fn wrong_element_is_failed_point() {
    let good = r#"{"metric":"m","timestamp":1,"value":1}"#;
    for (element, error) in [
        ("1", "a point must be an object"),
        ("null", "a point must be an object"),
        ("[]", "a point must be an object"),
        ("{}", "metric is missing"),
        (r#"{"timestamp":1,"value":1}"#, "metric is missing"),
        (
            r#"{"metric":"","timestamp":1,"value":1}"#,
            "metric is empty",
        ),
        (
            r#"{"metric":1,"timestamp":1,"value":1}"#,
            "metric must be a string",
        ),
        (r#"{"metric":"m","value":1}"#, "timestamp is missing"),
        (
            r#"{"metric":"m","timestamp":"1","value":1}"#,
            "timestamp must be a number",
        ),
        (
            r#"{"metric":"m","timestamp":1.5,"value":1}"#,
            "timestamp must be a 64-bit integer",
        ),
        (
            r#"{"metric":"m","timestamp":1e3,"value":1}"#,
            "timestamp must be a 64-bit integer",
        ),
        (
            r#"{"metric":"m","timestamp":9223372036854775808,"value":1}"#,
            "timestamp must be a 64-bit integer",
        ),
        (r#"{"metric":"m","timestamp":1}"#, "value is missing"),
        (
            r#"{"metric":"m","timestamp":1,"value":"1"}"#,
            "value must be a number",
        ),
        (
            r#"{"metric":"m","timestamp":1,"value":null}"#,
            "value must be a number",
        ),
        (
            r#"{"metric":"m","timestamp":1,"value":1e999}"#,
            "value is too large for a 64-bit float",
        ),
        (
            r#"{"metric":"m","timestamp":1,"value":1,"tags":[]}"#,
            "tags must be an object",
        ),
        (
            r#"{"metric":"m","timestamp":1,"value":1,"tags":{"a":1}}"#,
            "the values of tags must be strings",
        ),
        (
            r#"{"metric":"m","timestamp":1,"value":1,"tags":{"":"v"}}"#,
            "a label has no name",
        ),
        (
            r#"{"metric":"m","timestamp":1,"value":1,"tags":{"a":"1","a":"2"}}"#,
            "label a occurs twice",
        ),
    ] {
        let errors = format!(r#"{{"written":2,"errors":[{{"index":1,"error":"{error}"}}]}}"#);
        assert_eq!(
            answer(&format!("[{good},{element},{good}]")),
            (206, errors),
            "{element}"
        );
        let errors = format!(r#"{{"written":0,"errors":[{{"index":0,"error":"{error}"}}]}}"#);
        assert_eq!(answer(&format!("[{element}]")), (206, errors));
        if element == "[]" {
            continue;
        }
        let (status, body) = answer(element);
        assert_eq!(status, 400, "{element}");
        assert!(body.starts_with(r#"{"error":""#), "{body}");
    }
}

#[test]
fn point_refused_by_engine_is_reported_with_index() {
    let db = Db::new(DbOptions {
        duplicates: DuplicatePolicy::Reject,
        ..DbOptions::default()
    });
    let point = r#"{"metric":"m","timestamp":1,"value":1}"#;
    assert_eq!(write(&db, point.as_bytes()).status, 200);
    let other = r#"{"metric":"n","timestamp":1,"value":1}"#;
    let body = format!("[1,{other},{point},{{}}]");
    let expected = r#"{"written":1,"errors":[{"index":0,"error":"a point must be an object"},{"index":2,"error":"a sample at 1 already exists"},{"index":3,"error":"metric is missing"}]}"#;
    assert_eq!(write(&db, body.as_bytes()).body, expected);
    let again = write(&db, point.as_bytes());
    assert_eq!(again.status, 206);
    assert_eq!(
        again.body,
        r#"{"written":0,"errors":[{"index":0,"error":"a sample at 1 already exists"}]}"#,
    );
}

#[test]
fn malformed_body_writes_nothing() {
    let good = r#"{"metric":"m","timestamp":1,"value":1}"#;
    for tail in [
        "",
        ",",
        ",]",
        ",,",
        "]]",
        "] x",
        ",{",
        ",{\"a\"",
        ",{\"a\":",
        ",{\"a\":1",
        ",{\"a\":1,}]",
        ",{a:1}]",
        ",'a']",
        ",01]",
        ",1.]",
        ",.5]",
        ",+1]",
        ",1e]",
        ",1e+]",
        ",-]",
        ",0x1]",
        ",NaN]",
        ",Infinity]",
        ",nul]",
        ",tru]",
        ",\"a]",
        ",\"\\x\"]",
        ",\"\\u12\"]",
        ",\"\\u12g4\"]",
        ",\"\n\"]",
        ",[1,]]",
        ",[1 2]]",
        ",{\"a\":1 \"b\":2}]",
        ",/**/1]",
    ] {
        let db = db();
        let body = format!("[{good}{tail}");
        let answer = write(&db, body.as_bytes());
        assert_eq!(answer.status, 400, "{body}");
        assert!(
            answer.body.starts_with(r#"{"error":"malformed JSON"#),
            "{}",
            answer.body
        );
        assert!(contents(&db).is_empty());
    }
    for body in ["", " ", "1", "\"a\"", "null", "nothing"] {
        assert_eq!(
            answer(body),
            (
                400,
                r#"{"error":"the body must be a point or an array of points"}"#.into()
            )
        );
    }
    assert_eq!(write(&db(), b"[\"\xff\"]").status, 400);
    assert_eq!(answer(&format!("{good} {good}")).0, 400);
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("[{}{}]", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(answer(&nested(128)).0, 206);
    assert_eq!(answer(&nested(129)).0, 400);
    assert_eq!(answer(&"[".repeat(1_000_000)).0, 400);
    assert_eq!(answer(&"{\"a\":".repeat(1_000_000)).0, 400);
}

/// An error takes a hundred times the size of the malformed element, so the list of errors is
/// limited.
#[test]
fn only_first_errors_are_listed() {
    let count = Ingested::MAX_ERRORS + 5;
    let body = format!(
        r#"[{}{{"metric":"a","timestamp":1,"value":1}}]"#,
        "1,".repeat(count)
    );
    let ingested = ingest(&db(), body.as_bytes()).expect("an array");
    assert_eq!((ingested.written, ingested.refused), (1, count));
    assert_eq!(ingested.errors.len(), Ingested::MAX_ERRORS);
    assert_eq!(
        ingested.errors.last().map(|error| error.index),
        Some(Ingested::MAX_ERRORS - 1)
    );
}
