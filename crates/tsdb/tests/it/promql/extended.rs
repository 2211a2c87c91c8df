//! `anchored` and `smoothed`. The numbers follow from the samples by hand.

use tsdb::promql::{QueryError, format_query, parse_selectors};

use crate::support::promql::{assert_near, error_at, load, over, query_at};

/// A counter that is reset after 80 s: samples at 0, 20, 40, 60, 80 and 100 s.
const COUNTER: &str = "c 1 3 5 9 12 4";

#[test]
fn anchored_range_begins_with_sample_before_it() {
    let db = load(20, &[COUNTER]);
    for (query, expected) in [
        // From the sample at 20 s to that at 60 s.
        ("increase(c[30s] anchored)", 6.0),
        ("rate(c[30s] anchored)", 0.2),
        ("delta(c[30s] anchored)", 6.0),
        ("changes(c[30s] anchored)", 2.0),
        ("resets(c[30s] anchored)", 0.0),
        // A sample at the start of a range is before it.
        ("increase(c[25s] anchored)", 4.0),
        // Samples at 60, 80 and 100 s: 3 before the reset, 4 after it.
        ("increase(c[35s] anchored offset -40s)", 7.0),
        ("delta(c[35s] anchored offset -40s)", -5.0),
        ("resets(c[35s] offset -40s anchored)", 1.0),
        // Without a sample before the range, it begins with its first.
        ("increase(c[10m] anchored)", 8.0),
        ("increase(c[30s] @ 65 ANCHORED)", 6.0),
        ("increase(c[30s] anchored @ end())", 6.0),
        ("increase(c{} [30s] anchored # a comment\n)", 6.0),
    ] {
        assert_near(&db, 65, query, expected);
    }
    // A lone sample before the range is no difference.
    assert!(query_at(&db, 125, "increase(c[20s] anchored)").is_empty());
    // Nor is one further away than the look-back.
    let db = load(400, &["g 1 5"]);
    assert_near(&db, 410, "increase(g[1m] anchored)", 0.0);
    // Also where an earlier step reads that sample.
    assert_eq!(
        over(&db, 290, 410, 120, "increase(g[1m] anchored)"),
        ["{} 410:0"]
    );
    assert_eq!(over(&db, 310, 410, 100, "g smoothed"), ["g 410:5"]);
}

#[test]
fn smoothed_range_ends_between_samples() {
    let db = load(20, &[COUNTER]);
    for (query, expected) in [
        // From 4.5 at 35 s to 9.75 at 65 s.
        ("increase(c[30s] smoothed)", 5.25),
        ("rate(c[30s] smoothed)", 0.175),
        ("delta(c[30s] smoothed)", 5.25),
        // The sample at an end counts, and not what comes after it.
        ("increase(c[20s] @ 80 smoothed)", 3.0),
        // A range between two samples.
        ("increase(c[2s] smoothed)", 0.3),
        // From 9.75 at 65 s to 1 at 85 s: a reset counter grows from 0, and the gauge falls.
        ("increase(c[20s] smoothed offset -20s)", 3.25),
        ("delta(c[20s] smoothed offset -20s)", 0.25),
        // Without samples on the other side, the first and the last one count.
        ("increase(c[10m] smoothed offset -5m)", 15.0),
        ("c smoothed", 9.75),
        ("c @ 85 smoothed", 10.0),
        ("c smoothed offset 5s", 9.0),
        ("c{} Smoothed * 2", 19.5),
        // The last value goes on.
        ("c smoothed offset -100s", 4.0),
    ] {
        assert_near(&db, 65, query, expected);
    }
    assert!(query_at(&db, 465, "increase(c[20s] smoothed)").is_empty());
    assert!(query_at(&db, 465, "c smoothed").is_empty());
    // What comes later is no value of now.
    let db = load(20, &["late _ 5 6"]);
    assert!(query_at(&db, 15, "late smoothed").is_empty());
    assert!(query_at(&db, 15, "increase(late[10s] smoothed)").is_empty());
}

#[test]
fn answer_of_extended_range_has_its_ends() {
    let db = load(20, &[COUNTER]);
    let answer = query_at(&db, 65, "c[30s] anchored");
    assert_eq!(answer, ["c 35:3 40:5 60:9 65:9"]);
    let answer = query_at(&db, 65, "c[30s] smoothed");
    assert_eq!(answer, ["c 35:4.5 40:5 60:9 65:9.75"]);
}

#[test]
fn name_may_be_that_of_modifier() {
    let db = load(20, &["smoothed{anchored=\"a\"} 1 2"]);
    for (query, expected) in [
        ("smoothed", 2.0),
        ("sum by (anchored) (smoothed{anchored=\"a\"})", 2.0),
        ("smoothed and smoothed", 2.0),
        ("increase(smoothed[10s] smoothed)", 0.5),
        ("smoothed smoothed offset 10s", 1.5),
        ("increase({__name__=\"smoothed\"}[10s] smoothed)", 0.5),
        ("{\"smoothed\"} smoothed", 2.0),
    ] {
        assert_near(&db, 20, query, expected);
    }
}

#[test]
fn wrong_use_of_modifier_is_refused() {
    let db = load(20, &[COUNTER]);
    for (query, reason) in [
        (
            "deriv(c[1m] smoothed)",
            "`smoothed` applies to delta, increase and rate, not to deriv",
        ),
        (
            "sum_over_time(c[1m] anchored)",
            "`anchored` applies to changes, delta, increase, rate and resets, not to sum_over_time",
        ),
        (
            "absent_over_time(c[1m] anchored)",
            "`anchored` applies to changes, delta, increase, rate and resets, not to absent_over_time",
        ),
        (
            "increase(c[1m:1s] smoothed)",
            "`smoothed` does not apply to a sub-query",
        ),
        (
            "increase(c[1m] smoothed anchored)",
            "`anchored` and `smoothed` exclude each other",
        ),
        ("c anchored", "`anchored` needs a range"),
    ] {
        assert_eq!(error_at(&db, 60, query), format!("bad_data: {reason}"));
    }
    for query in [
        "sum(c) smoothed",
        "1 smoothed",
        "\"c\" anchored",
        "rate(c[1m]) smoothed",
    ] {
        assert!(
            error_at(&db, 60, query).starts_with("bad_data: "),
            "{query}"
        );
    }
}

#[test]
fn modifier_is_no_matcher() {
    let selectors = parse_selectors("rate(c{a=\"b\"}[1m] anchored)").expect("a query");
    let shown: Vec<_> = selectors[0].iter().map(|it| it.name()).collect();
    assert_eq!(shown, ["__name__", "a"]);
    let db = load(20, &[COUNTER]);
    assert_eq!(
        query_at(&db, 20, "absent(none{a=\"b\"} smoothed)"),
        ["{a=\"b\"} 1"]
    );
    let layout = format_query("c smoothed");
    assert!(
        matches!(layout, Err(QueryError::Unsupported { .. })),
        "{layout:?}"
    );
}
