use std::time::Duration;

use crate::support::promql::{error_at, load};
use tsdb::promql::{Query, QueryError, QueryOptions, TimeRange};

#[test]
fn invalid_query_is_bad_data() {
    let db = load(60, &[]);
    for query in [
        "",
        "up{",
        "sum(",
        "rate(up)",
        "up[5m] + 1",
        "{}",
        "1 and 1",
        "nope(up)",
        "up[5m",
    ] {
        assert!(error_at(&db, 0, query).starts_with("bad_data: "), "{query}");
    }
}

#[test]
fn invalid_pattern_is_error() {
    let db = load(60, &[]);
    assert!(error_at(&db, 0, "up{a=~\"(\"}").contains('('));
}

#[test]
fn deep_and_long_queries_are_refused_before_parsing() {
    for text in [
        "(".repeat(100_000),
        format!("{}1{}", "(".repeat(5_000), ")".repeat(5_000)),
        format!("{}1", "-".repeat(10_000)),
        format!("1{}", "+1".repeat(10_000)),
        "-".repeat(1_990) + "a",
        format!("a{}", "+1".repeat(990)),
        format!("{}a{}", "(".repeat(990), ")".repeat(990)),
        format!("# it's a comment\n{}1", "(".repeat(5_000)),
    ] {
        assert!(matches!(
            Query::parse(&text),
            Err(QueryError::TooLarge { .. })
        ));
    }
    let db = load(60, &["a 1"]);
    for text in [
        "-".repeat(240) + "a",
        format!("a{}", "+1".repeat(240)),
        format!("{}a{}", "abs(".repeat(240), ")".repeat(240)),
    ] {
        let query = Query::parse(&text).expect("not too large");
        assert!(query.instant(&db, 0, &QueryOptions::default()).is_ok());
    }
}

/// The parser panics on these.
#[test]
fn oversized_durations_are_refused_before_parsing() {
    let digits = "4".repeat(90);
    for text in [
        &*format!("m[{digits}]"),
        "m[Inf]",
        "m[nan]",
        "m[1e30]",
        "m[1E+30]",
        "m[.1e+31]",
        "m[5m:1e30]",
        "m{a=\"]\"}[1e30]",
        "m offset 1e30",
        "m OFFSET -1e30",
        "m offset # of course\n - Inf",
        "Z[]\n[1e30",
    ] {
        let parsed = Query::parse(text);
        assert!(
            matches!(&parsed, Err(QueryError::Syntax { reason }) if reason == "duration out of range"),
            "{text}: {parsed:?}"
        );
    }
    for text in [
        "m[5m] == bool 1e30",
        "sum_over_time(m[300]) > 1e30",
        "m offset 1e3 > Inf",
        "m{a=\"[1e30]\"} > 1e30 # [1e30]",
        "m[0x7fffffffffffffff]",
    ] {
        let parsed = Query::parse(text);
        assert!(
            !matches!(&parsed, Err(QueryError::Syntax { reason }) if reason == "duration out of range"),
            "{text}: {parsed:?}"
        );
    }
}

#[test]
fn range_bounds_and_steps_are_checked() {
    let db = load(60, &[]);
    let query = Query::parse("1").expect("a query");
    let range = |start_ms, end_ms, step_ms| {
        query.range(
            &db,
            TimeRange {
                start_ms,
                end_ms,
                step_ms,
            },
            &QueryOptions::default(),
        )
    };
    assert!(matches!(range(0, 10, 0), Err(QueryError::StepNotPositive)));
    assert!(matches!(range(0, 10, -1), Err(QueryError::StepNotPositive)));
    assert!(matches!(range(10, 0, 1), Err(QueryError::EndBeforeStart)));
    assert!(range(0, 11_000, 1).is_ok());
    assert!(matches!(
        range(0, 11_001, 1),
        Err(QueryError::TooManySteps {
            max: 11_001,
            actual: 11_002
        })
    ));
    assert!(matches!(
        range(i64::MIN, i64::MAX, 1),
        Err(QueryError::TooManySteps { .. })
    ));
    assert!(range(i64::MIN, i64::MAX, i64::MAX).is_ok());
}

#[test]
fn query_beyond_sample_budget_fails() {
    let db = load(1, &["g 0+1x1000"]);
    let options = QueryOptions {
        max_samples: 500,
        ..QueryOptions::default()
    };
    let run =
        |text: &str| Query::parse(text).and_then(|query| query.instant(&db, 1_000_000, &options));
    assert!(run("sum_over_time(g[100s])").is_ok());
    assert!(matches!(
        run("sum_over_time(g[600s])"),
        Err(QueryError::TooManySamples { max: 500 })
    ));
    // A range query reads each series once: 500 samples for 400 overlapping windows of 100.
    let range = TimeRange {
        start_ms: 601_000,
        end_ms: 1_000_000,
        step_ms: 1_000,
    };
    let options_of_range = QueryOptions {
        max_samples: 900,
        ..QueryOptions::default()
    };
    let query = Query::parse("sum_over_time(g[100s])").expect("a query");
    assert!(query.range(&db, range, &options_of_range).is_ok());
    // Steps count too, before memory is allocated for them.
    for text in [
        "sum_over_time(vector(1)[1000y:1ms])",
        "max_over_time(g[1000s:1s])",
    ] {
        assert!(
            matches!(run(text), Err(QueryError::TooManySamples { max: 500 })),
            "{text}"
        );
    }
}

#[test]
fn query_beyond_timeout_fails() {
    let db = load(1, &["g 0+1x10000"]);
    let options = QueryOptions {
        timeout: Duration::ZERO,
        ..QueryOptions::default()
    };
    let range = TimeRange {
        start_ms: 0,
        end_ms: 10_000_000,
        step_ms: 1_000,
    };
    let query = Query::parse("sum_over_time(g[1h])").expect("a query");
    let error = query.range(&db, range, &options).expect_err("no time");
    assert!(matches!(error, QueryError::Timeout { .. }));
    assert_eq!((error.error_type(), error.status()), ("timeout", 503));
}

#[test]
fn extreme_times_are_accepted() {
    let db = load(60, &["up 1"]);
    for time in [i64::MIN, i64::MAX] {
        for text in [
            "up",
            "rate(up[5m])",
            "up offset 1000y",
            "sum_over_time(up[5m:1m] @ 0)",
            "up @ 1e15",
        ] {
            let query = Query::parse(text).expect(text);
            assert!(
                query.instant(&db, time, &QueryOptions::default()).is_ok(),
                "{text} at {time}"
            );
        }
    }
}
