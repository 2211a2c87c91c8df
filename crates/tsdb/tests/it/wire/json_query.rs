use serde_json::Value;

use crate::support::wire::db;
use tsdb::wire::json::{Answer, Counters, Query, counters, health, query};
use tsdb::{Db, Labels, Sample};

fn filled() -> Db {
    let db = db();
    let none: [(&str, &str); 0] = [];
    let plain = Labels::new("cpu", none).expect("labels");
    let tagged = Labels::new("cpu", [("host", "a"), ("dc", "x\"y")]).expect("labels");
    for (labels, timestamp, value) in [
        (&plain, 1, 1.0),
        (&tagged, 2, 2.5),
        (&plain, 3, 3.0),
        (&plain, 3, -0.0),
        (&plain, 4, f64::NAN),
        (&plain, 5, f64::INFINITY),
        (&plain, 6, f64::NEG_INFINITY),
    ] {
        db.append(labels, Sample::new(timestamp, value))
            .expect("accepted");
    }
    db
}

fn answer(body: &str) -> (u16, String) {
    let Answer { status, body } = query(&filled(), body.as_bytes());
    (status, body.into_owned())
}

/// The answer is written in place: each point overwrites the time and the value of the point before
/// it.
#[test]
fn points_keep_their_own_time_and_value() {
    let points = [
        (-100_000_001, "-0.5"),
        (-1, "0"),
        (0, "7"),
        (99_999_999, "0.05"),
        (100_000_000, "0.0501"),
        (100_000_001, "10"),
        (199_999_999, "100.1"),
        (200_000_000, "99999.99"),
        (1_700_000_000_000, "12345678"),
        (1_700_000_009_999, "123456789.1"),
        (9_223_372_036_854_775_807, "1e+300"),
    ];
    let db = db();
    let labels = Labels::new("m", [("x", "é")]).expect("labels");
    let point = |(time, value): (i64, &str)| {
        format!(r#"{{"metric":"m","timestamp":{time},"value":{value},"tags":{{"x":"é"}}}}"#)
    };
    for (time, value) in points {
        let value = value.parse().expect("a number");
        db.append(&labels, Sample::new(time, value))
            .expect("accepted");
    }
    let request = format!(
        r#"{{"metric":"m","start":{},"end":{}}}"#,
        i64::MIN,
        i64::MAX
    );
    let answer = query(&db, request.as_bytes()).body;
    for expected in points.map(point) {
        assert!(answer.contains(&expected), "{expected} in {answer}");
    }
}

#[test]
fn points_ascend_by_time() {
    let (status, body) = answer(r#"{"metric":"cpu","start":1,"end":3}"#);
    assert_eq!(status, 200);
    assert_eq!(
        body,
        concat!(
            r#"{"metric":"cpu","start":1,"end":3,"points":["#,
            r#"{"metric":"cpu","timestamp":1,"value":1},"#,
            r#"{"metric":"cpu","timestamp":2,"value":2.5,"tags":{"dc":"x\"y","host":"a"}},"#,
            r#"{"metric":"cpu","timestamp":3,"value":3},"#,
            r#"{"metric":"cpu","timestamp":3,"value":-0}],"count":4}"#,
        ),
    );
}

#[test]
fn tags_select_series() {
    let (_, body) = answer(r#"{"metric":"cpu","start":0,"end":9,"tags":{"host":"a"}}"#);
    assert!(
        body.ends_with(r#""tags":{"dc":"x\"y","host":"a"}}],"count":1}"#),
        "{body}"
    );
    let (_, body) = answer(r#"{"metric":"cpu","start":0,"end":9,"tags":{"host":"b"}}"#);
    assert!(body.ends_with(r#""points":[],"count":0}"#), "{body}");
}

#[test]
fn values_without_json_number_are_strings() {
    let (_, body) = answer(r#"{"metric":"cpu","start":4,"end":6,"tags":null}"#);
    for text in [
        r#""value":"NaN"}"#,
        r#""value":"+Inf"}"#,
        r#""value":"-Inf"}"#,
    ] {
        assert!(body.contains(text), "{body}");
    }
    assert!(serde_json::from_str::<Value>(&body).is_ok());
}

#[test]
fn unknown_metric_has_no_points() {
    assert_eq!(
        answer(r#"{"metric":"no\tne","start":-1,"end":1}"#),
        (
            200,
            r#"{"metric":"no\tne","start":-1,"end":1,"points":[],"count":0}"#.into()
        ),
    );
}

#[test]
fn invalid_query_is_bad_request() {
    for (body, error) in [
        ("{}", "metric is missing"),
        (r#"{"metric":"","start":1,"end":2}"#, "metric is missing"),
        (
            r#"{"metric":1,"start":1,"end":2}"#,
            "metric must be a string",
        ),
        (r#"{"metric":"cpu","end":2}"#, "start is missing"),
        (r#"{"metric":"cpu","start":1}"#, "end is missing"),
        (
            r#"{"metric":"cpu","start":"1","end":2}"#,
            "start and end must be numbers",
        ),
        (
            r#"{"metric":"cpu","start":1.5,"end":2}"#,
            "start and end must be 64-bit integers",
        ),
        (
            r#"{"metric":"cpu","start":3,"end":2}"#,
            "start is after end",
        ),
        (
            r#"{"metric":"cpu","start":1,"end":2,"tags":1}"#,
            "tags must be an object",
        ),
        (
            r#"{"metric":"cpu","start":1,"end":2,"tags":{"a":1}}"#,
            "the values of tags must be strings",
        ),
        ("[]", "the body must be an object"),
        ("", "the body must be an object"),
    ] {
        assert_eq!(
            answer(body),
            (400, format!(r#"{{"error":"{error}"}}"#)),
            "{body}"
        );
    }
    for body in [
        "{",
        r#"{"metric":"cpu","start":1,"end":2"#,
        r#"{"metric":"cpu","start":1,"end":2}}"#,
    ] {
        let (status, error) = answer(body);
        assert_eq!(status, 400);
        assert!(error.starts_with(r#"{"error":"malformed JSON"#), "{error}");
    }
}

#[test]
fn health_and_counters_are_formatted() {
    assert_eq!(
        health(),
        Answer {
            status: 200,
            body: r#"{"status":"healthy"}"#.into()
        }
    );
    let counted = Counters {
        points_written: 7,
        queries_served: 2,
        uptime_seconds: 1.25,
    };
    assert_eq!(
        counters(&counted).body,
        r#"{"points_written":7,"queries_served":2,"uptime_seconds":1.250}"#,
    );
    for (uptime_seconds, text) in [(0.0, "0.000"), (59.9996, "60.000"), (3600.007, "3600.007")] {
        let body = counters(&Counters {
            uptime_seconds,
            ..Counters::default()
        })
        .body;
        assert!(body.ends_with(&format!(":{text}}}")), "{body}");
    }
}

#[test]
fn selection_is_available_before_reading() {
    let db = filled();
    let body = br#"{"metric":"cpu","start":0,"end":9,"tags":{"host":"a"}}"#;
    let read = Query::read(body).expect("a query");
    let selection = read.select(&db);
    assert_eq!(selection.len(), 1);
    assert_eq!(read.answer(&selection), query(&db, body));
}

/// A full buffer is flushed correctly at points of any length.
#[test]
fn points_of_every_length_are_complete() {
    let times = (-3..3).chain([99_999_999, 100_000_000, 9_999_999_999, i64::MIN, i64::MAX]);
    let times: Vec<i64> = times.chain(1_700_000_000_000..1_700_000_001_000).collect();
    for tag in [0, 1, 300, 4_000] {
        let tag = "\"".repeat(tag);
        let labels = Labels::new("m", [("a", &tag), ("b", &tag)]).expect("labels");
        let db = db();
        for time in &times {
            let value = 1.5 / (time % 7) as f64;
            db.append(&labels, Sample::new(*time, value))
                .expect("appended");
        }
        let body = format!(
            r#"{{"metric":"m","start":{},"end":{}}}"#,
            i64::MIN,
            i64::MAX
        );
        let answer: Value = serde_json::from_str(&query(&db, body.as_bytes()).body).expect("JSON");
        let points = answer["points"].as_array().expect("points");
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let found: Vec<i64> = points
            .iter()
            .filter_map(|point| point["timestamp"].as_i64())
            .collect();
        assert_eq!(found, sorted);
        for point in points {
            let time = point["timestamp"].as_i64().expect("a time");
            let value = 1.5 / (time % 7) as f64;
            let read = match &point["value"] {
                Value::String(text) => text.parse().expect("a number"),
                number => number.as_f64().expect("a number"),
            };
            assert_eq!(read, value);
            assert_eq!(point["tags"]["b"].as_str().unwrap_or_default(), tag);
        }
        assert_eq!(answer["count"], times.len());
    }
}
