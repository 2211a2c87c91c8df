use tsdb::promql::{Query, QueryOptions, format_query};
use tsdb::{Db, DbOptions, Labels, Sample};

use crate::support::promql::{load, number, over, query_at};

#[test]
fn selector_looks_back_exactly_five_minutes() {
    let db = load(60, &["up 1"]);
    assert_eq!(query_at(&db, 0, "up"), ["up 1"]);
    assert_eq!(query_at(&db, 299, "up"), ["up 1"]);
    assert!(query_at(&db, 300, "up").is_empty());
    assert!(query_at(&db, -1, "up").is_empty());
}

#[test]
fn stale_marker_ends_series_until_next_sample() {
    let db = load(60, &["up 1 stale _ 2"]);
    assert_eq!(query_at(&db, 59, "up"), ["up 1"]);
    assert!(query_at(&db, 60, "up").is_empty());
    assert!(query_at(&db, 179, "up").is_empty());
    assert!(query_at(&db, 179, "timestamp(up)").is_empty());
    assert_eq!(query_at(&db, 180, "up"), ["up 2"]);
    assert_eq!(over(&db, 0, 180, 60, "up"), ["up 0:1 180:2"]);
}

#[test]
fn range_omits_stale_markers() {
    let db = load(60, &["up 1 stale 3"]);
    assert_eq!(query_at(&db, 120, "count_over_time(up[5m])"), ["{} 2"]);
    assert_eq!(query_at(&db, 120, "up[5m]"), ["up 0:1 120:3"]);
}

#[test]
fn other_nan_is_value() {
    let db = load(60, &["up NaN"]);
    assert_eq!(query_at(&db, 0, "up"), ["up NaN"]);
}

#[test]
fn range_is_open_on_left() {
    let db = load(60, &["up 0 1 2 3 4 5"]);
    assert_eq!(query_at(&db, 300, "up[2m]"), ["up 240:4 300:5"]);
    assert_eq!(query_at(&db, 299, "up[2m]"), ["up 180:3 240:4"]);
    // The left end is also excluded at later steps, where an earlier step has already read that
    // sample.
    assert_eq!(
        over(&db, 240, 300, 60, "sum_over_time(up[2m])"),
        ["{} 240:7 300:9"]
    );
}

#[test]
fn matchers_select_series() {
    let db = load(
        60,
        &[
            "up{job=\"a\"} 1",
            "up{job=\"b\"} 2",
            "up 3",
            "down{job=\"a\"} 4",
        ],
    );
    assert_eq!(query_at(&db, 0, "up{job=\"a\"}"), ["up{job=\"a\"} 1"]);
    assert_eq!(
        query_at(&db, 0, "up{job!=\"a\"}"),
        ["up 3", "up{job=\"b\"} 2"]
    );
    assert_eq!(query_at(&db, 0, "up{job=\"\"}"), ["up 3"]);
    assert_eq!(query_at(&db, 0, "up{job=~\"a|b\"}").len(), 2);
    assert_eq!(query_at(&db, 0, "up{job=~\"a.\"}").len(), 0);
    assert_eq!(query_at(&db, 0, "up{job!~\"a|b\"}"), ["up 3"]);
    assert_eq!(
        query_at(&db, 0, "{__name__=~\"up|down\",job=\"a\"}").len(),
        2
    );
}

#[test]
fn offset_moves_time_both_ways() {
    let db = load(60, &["up 0 1 2 3 4 5"]);
    assert_eq!(query_at(&db, 180, "up offset 1m"), ["up 2"]);
    assert_eq!(query_at(&db, 180, "up offset -1m"), ["up 4"]);
    assert_eq!(
        query_at(&db, 180, "sum_over_time(up[2m] offset 1m)"),
        ["{} 3"]
    );
    assert_eq!(over(&db, 120, 180, 60, "up offset 1m"), ["up 120:1 180:2"]);
}

#[test]
fn at_modifier_pins_time() {
    let db = load(60, &["up 0 1 2 3 4 5"]);
    assert_eq!(over(&db, 0, 120, 60, "up @ 240"), ["up 0:4 60:4 120:4"]);
    assert_eq!(over(&db, 60, 120, 60, "up @ start()"), ["up 60:1 120:1"]);
    assert_eq!(over(&db, 60, 120, 60, "up @ end()"), ["up 60:2 120:2"]);
    assert_eq!(
        over(&db, 60, 120, 60, "up @ end() offset 1m"),
        ["up 60:1 120:1"]
    );
    assert_eq!(
        over(&db, 60, 120, 60, "sum_over_time(up[2m] @ end())"),
        ["{} 60:3 120:3"],
    );
}

#[test]
fn range_query_equals_instant_queries_at_steps() {
    let db = load(
        15,
        &["a{x=\"1\"} 0+7x40", "a{x=\"2\"} 5 _ _ 1 stale 2+1x30"],
    );
    for query in [
        "a",
        "rate(a[1m])",
        "sum(a)",
        "a > 10",
        "topk(1, a)",
        "max_over_time(a[45s])",
    ] {
        let ranged = over(&db, 0, 700, 35, query);
        for step in (0..=700).step_by(35) {
            let instant = query_at(&db, step, query).len();
            let marker = format!(" {step}:");
            let at_step = ranged.iter().filter(|line| line.contains(&marker)).count();
            assert_eq!(at_step, instant, "{query} at {step}");
        }
    }
}

#[test]
fn scalars_and_strings_are_valid_queries() {
    let db = load(60, &[]);
    assert_eq!(number(&db, 90, "time()"), 90.0);
    assert_eq!(query_at(&db, 0, "\"text\""), ["text"]);
    assert_eq!(over(&db, 0, 60, 30, "time() * 2"), ["{} 0:0 30:60 60:120"]);
    assert!(query_at(&db, 0, "nothing").is_empty());
    assert!(query_at(&db, 0, "sum(nothing)").is_empty());
}

#[test]
fn stats_count_the_samples_read_and_held() {
    let db = Db::new(DbOptions::default());
    let up = Labels::new("up", [("job", "a")]).expect("the labels are valid");
    for second in 0..100 {
        db.append(&up, Sample::new(second * 1000, 1.0))
            .expect("the sample is accepted");
    }
    let options = QueryOptions::default();
    let query = Query::parse("count_over_time(up[1m])").expect("the query is valid");
    let (_, stats) = query
        .instant_with_stats(&db, 99_000, &options)
        .expect("the query is evaluated");
    assert_eq!(stats.samples_read, 60);
    assert!(stats.samples_held > stats.samples_read, "{stats:?}");
    let none = Query::parse("1 + 1").expect("the query is valid");
    let (_, stats) = none
        .instant_with_stats(&db, 0, &options)
        .expect("the query is evaluated");
    assert_eq!(stats.samples_read, 0);
}

/// The parser's engine for regular expressions refused these patterns, or took them for others.
#[test]
fn patterns_are_those_of_re2() {
    let db = load(60, &["up{job=\"a{b\"} 1", "up{job=\"é\"} 2"]);
    for (pattern, found) in [
        ("a{b", 1),
        ("a{.*", 1),
        ("\\\\Qa{\\\\Eb", 1),
        ("a[[{]b", 1),
        ("[[]x]|é", 1),
        ("\\\\w", 0),
        ("a[{&&]b", 1),
    ] {
        let query = format!("up{{job=~\"{pattern}\"}}");
        assert_eq!(query_at(&db, 0, &query).len(), found, "{query}");
        let query = format!("topk(scalar(vector(5)), up{{job!~\"{pattern}\"}})");
        assert_eq!(query_at(&db, 0, &query).len(), 2 - found, "{query}");
    }
    let replaced = "label_replace(up{job=~\"a.*\"}, \"b\", \"$1\", \"job\", \"\\\\Qa{\\\\E(.)\")";
    assert_eq!(query_at(&db, 0, replaced), ["up{b=\"b\",job=\"a{b\"} 1"]);
    for wrong in ["a**", "\\\\1", "a{2,1}", "(?x)a"] {
        let error = Query::parse(&format!("up{{job=~\"{wrong}\"}}")).expect_err(wrong);
        assert_eq!(error.error_type(), "bad_data", "{error}");
    }
    let query = "up{job=~\"\\\\Qa{\\\\E\"}";
    assert_eq!(format_query(query).expect("a query"), query);
}
