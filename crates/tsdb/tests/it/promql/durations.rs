//! Arithmetic with durations. Prometheus' own cases are in its `duration_expression.test`.

use crate::support::promql::{error_at, load, number, over};
use tsdb::promql::{Query, QueryError, QueryOptions, TimeRange, Value, format_query};

#[test]
fn duration_is_an_expression() {
    // The value at each second is its time.
    let db = load(1, &["m 0+1x2000"]);
    for (query, answer) in [
        ("count_over_time(m[26s+4s])", 30.0),
        ("count_over_time(m[ ( 2s * (10 + 5) ) ])", 30.0),
        ("count_over_time(m[-5s + 35])", 30.0),
        ("count_over_time(m[+5s])", 5.0),
        ("count_over_time(m[5m1s % 5m + 2 ^ 3])", 9.0),
        ("count_over_time(m[1m/4:3s - 500ms * 2])", 8.0),
        ("count_over_time(m[20s:min_of(5s, MAX_OF(2, 1ms))])", 10.0),
        ("m offset (100 + 2)", 898.0),
        ("m offset 100 + 2", 902.0),
        ("m offset -(2 * 2)", 1004.0),
        ("m offset - # earlier\n (2 # twice\n * 2)", 1004.0),
        ("m offset min_of(4s, 1m) * 2", 1992.0),
        ("m offset -2 ^ 2", 1002.0 * 1002.0),
        ("m{} offset (1d - 86399s)", 999.0),
        ("m offset (2s - 2s)", 1000.0),
    ] {
        assert_eq!(number(&db, 1000, query), answer, "{query}");
    }
}

#[test]
fn step_and_range_are_those_of_each_evaluation() {
    let db = load(1, &["m 0+1x100"]);
    let counted = "count_over_time(m[step() + 1])";
    assert_eq!(over(&db, 50, 60, 10, counted), ["{} 50:11 60:11"]);
    assert_eq!(over(&db, 50, 60, 5, counted), ["{} 50:6 55:6 60:6"]);
    assert_eq!(
        over(&db, 50, 60, 5, "m offset min_of(Range(), 8s)"),
        ["m 50:42 55:47 60:52"]
    );
    // A query is parsed once, and evaluated over any times.
    let query = Query::parse("m offset -step()").expect("a query");
    let at_end = |step_ms| {
        let range = TimeRange {
            start_ms: 50_000,
            end_ms: 50_000,
            step_ms,
        };
        match query.range(&db, range, &QueryOptions::default()) {
            Ok(Value::Matrix(series)) => series[0].samples[0].value,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((at_end(1000), at_end(7000)), (51.0, 57.0));
    assert_eq!(number(&db, 50, "m offset range()"), 50.0);
}

#[test]
fn impossible_duration_is_bad_data() {
    let db = load(60, &["m 1"]);
    for (query, reason) in [
        ("m[5m - 5m]", "duration must be greater than 0"),
        ("m[1s - 1m]", "duration must be greater than 0"),
        // The step of an instant is 0.
        ("m[step()]", "duration must be greater than 0"),
        ("m[1h:1m - 1m]", "duration must be greater than 0"),
        ("m[1h / (2 - 2)]", "a duration is divided by zero"),
        ("m offset (5 % 0)", "a duration is divided by zero"),
        ("m offset (1e308 * 10)", "a duration is NaN or infinite"),
        (
            "m offset (0 ^ -1 - 0 ^ -1)",
            "a duration is NaN or infinite",
        ),
        ("m offset (1e10 * 1)", "duration out of range"),
        ("m[1e10 + 1]", "duration out of range"),
        ("m[5000000000ms]", "duration out of range"),
        ("m[time() + 1]", "unexpected time in a duration"),
        ("m[m + 1]", "unexpected m in a duration"),
        ("m[1m == 1m]", "unexpected = in a duration"),
        ("m offset (\"1m\")", "unexpected \"1m\" in a duration"),
    ] {
        assert_eq!(error_at(&db, 0, query), format!("bad_data: {reason}"));
    }
    for query in [
        "m[1m + ]",
        "m[(1m]",
        "m offset (1m",
        "m offset min_of(1m)",
        "m[]",
    ] {
        assert!(error_at(&db, 0, query).starts_with("bad_data: "), "{query}");
    }
}

#[test]
fn metric_can_be_named_offset() {
    let db = load(60, &["offset 3", "m{offset=\"1\"} 4"]);
    for (query, answer) in [
        ("offset", 3.0),
        ("offset + (2)", 5.0),
        ("m - on() offset", 1.0),
        ("sum by (offset) (m)", 4.0),
        ("m{offset=\"1\"} offset (0)", 4.0),
    ] {
        assert_eq!(number(&db, 0, query), answer, "{query}");
    }
}

#[test]
fn layout_shows_the_value_of_a_duration() {
    let formatted = format_query("rate(m[26m+4m] offset (2*2))");
    assert_eq!(formatted.expect("a query"), "rate(m[30m] offset 4s)");
    let formatted = format_query("m[2*step()]");
    assert!(matches!(formatted, Err(QueryError::Unsupported { .. })));
}
