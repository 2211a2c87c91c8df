use crate::support::promql::{error_at, load, number, over, query_at};
use tsdb::Db;

fn pair() -> Db {
    load(
        60,
        &[
            "errors{method=\"get\",code=\"500\"} 24",
            "errors{method=\"get\",code=\"404\"} 30",
            "errors{method=\"put\",code=\"501\"} 3",
            "errors{method=\"post\",code=\"500\"} 6",
            "errors{method=\"post\",code=\"404\"} 21",
            "requests{method=\"get\"} 600",
            "requests{method=\"del\"} 34",
            "requests{method=\"post\"} 120",
        ],
    )
}

#[test]
fn one_to_one_matches_on_and_ignoring_labels() {
    let db = pair();
    assert_eq!(
        query_at(&db, 0, "errors{code=\"500\"} / ignoring(code) requests"),
        ["{method=\"get\"} 0.04", "{method=\"post\"} 0.05"],
    );
    assert_eq!(
        query_at(&db, 0, "errors{code=\"500\"} / on(method) requests"),
        ["{method=\"get\"} 0.04", "{method=\"post\"} 0.05"],
    );
}

#[test]
fn group_left_matches_many_to_one() {
    let db = pair();
    assert_eq!(
        query_at(&db, 0, "errors / ignoring(code) group_left requests"),
        [
            "{code=\"404\",method=\"get\"} 0.05",
            "{code=\"404\",method=\"post\"} 0.175",
            "{code=\"500\",method=\"get\"} 0.04",
            "{code=\"500\",method=\"post\"} 0.05",
        ],
    );
    assert_eq!(
        query_at(
            &db,
            0,
            "requests - on(method) group_right errors{code=\"404\"}"
        ),
        [
            "{code=\"404\",method=\"get\"} 570",
            "{code=\"404\",method=\"post\"} 99"
        ],
    );
}

#[test]
fn group_left_copies_labels_of_one_side() {
    let db = load(
        60,
        &[
            "m{i=\"1\"} 5",
            "m{i=\"2\",v=\"own\"} 6",
            "info{i=\"1\",v=\"9\"} 1",
            "info{i=\"2\"} 1",
        ],
    );
    assert_eq!(
        query_at(&db, 0, "m * on(i) group_left(v) info"),
        ["{i=\"1\",v=\"9\"} 5", "{i=\"2\"} 6"],
    );
}

#[test]
fn several_matches_are_error() {
    let db = pair();
    assert!(error_at(&db, 0, "errors / ignoring(code) requests").starts_with("execution: several"));
    assert!(error_at(&db, 0, "requests / ignoring(code) errors").contains("right side"));
    assert!(error_at(&db, 0, "requests * on(method) group_left errors").contains("right side"));
}

#[test]
fn duplicate_match_without_other_side_is_no_error() {
    let db = load(60, &["a _ 10", "b{x=\"1\"} 1 stale", "b{x=\"2\"} 2"]);
    for query in ["none / on() b", "none * on() group_left b", "b / on() none"] {
        assert_eq!(query_at(&db, 0, query), [""; 0], "{query}");
    }
    assert_eq!(over(&db, 0, 60, 60, "a / on() b"), ["{} 60:5"]);
    assert!(error_at(&db, 0, "vector(1) / on() b").contains("right side"));
}

/// The comparison used to drop one of the pairs before they were counted.
#[test]
fn several_matches_are_error_even_if_filtered() {
    let db = load(
        60,
        &[
            "many{job=\"a\",x=\"1\"} 1",
            "many{job=\"a\",x=\"2\"} 9",
            "one{job=\"a\"} 5",
        ],
    );
    for query in [
        "many > on(job) one",
        "many == on(job) one",
        "one < on(job) many",
    ] {
        assert!(
            error_at(&db, 0, query).starts_with("execution: several"),
            "{query}"
        );
    }
    assert_eq!(
        query_at(&db, 0, "many > on(job) group_left one"),
        ["many{job=\"a\",x=\"2\"} 9"]
    );
    // The label that both results get no longer tells them apart.
    let error = error_at(&db, 0, "many > on(job) group_left(x) one");
    assert_eq!(
        error,
        "execution: several series of a result have the labels many{job=\"a\"}"
    );
}

#[test]
fn series_with_equal_key_at_different_steps_match() {
    let db = load(60, &["a 10 20", "b{x=\"1\"} 1 stale", "b{x=\"2\"} _ 2"]);
    assert_eq!(over(&db, 0, 60, 60, "a / on() b"), ["{} 0:10 60:10"]);
}

#[test]
fn comparison_filters_or_returns_bool() {
    let db = load(
        60,
        &[
            "a{x=\"1\"} 1",
            "a{x=\"2\"} 2",
            "b{x=\"1\"} 2",
            "b{x=\"2\"} 2",
        ],
    );
    assert_eq!(query_at(&db, 0, "a > 1"), ["a{x=\"2\"} 2"]);
    assert_eq!(query_at(&db, 0, "1 < a"), ["a{x=\"2\"} 2"]);
    assert_eq!(
        query_at(&db, 0, "a > bool 1"),
        ["{x=\"1\"} 0", "{x=\"2\"} 1"]
    );
    assert_eq!(query_at(&db, 0, "a == b"), ["a{x=\"2\"} 2"]);
    assert_eq!(
        query_at(&db, 0, "a == bool b"),
        ["{x=\"1\"} 0", "{x=\"2\"} 1"]
    );
    assert_eq!(query_at(&db, 0, "a != on(x) b"), ["{x=\"1\"} 1"]);
    assert_eq!(number(&db, 0, "1 >= bool 1"), 1.0);
    assert!(error_at(&db, 0, "1 > 1").starts_with("bad_data: "));
}

#[test]
fn arithmetic_follows_ieee_754() {
    let db = load(60, &["a 7"]);
    for (query, expected) in [
        ("a + 1", 8.0),
        ("10 - a", 3.0),
        ("a * 2", 14.0),
        ("a / 0", f64::INFINITY),
        ("-a % 4", -3.0),
        ("2 ^ 3 ^ 2", 512.0),
        ("-2 ^ 2", -4.0),
        ("1 atan2 0", std::f64::consts::FRAC_PI_2),
        ("a - a", 0.0),
    ] {
        assert_eq!(number(&db, 0, query), expected, "{query}");
    }
    assert!(number(&db, 0, "0 / 0").is_nan());
    assert!(number(&db, 0, "a % 0").is_nan());
    assert_eq!(query_at(&db, 0, "-a"), ["{} -7"]);
    assert_eq!(query_at(&db, 0, "a + 1"), ["{} 8"]);
}

#[test]
fn set_operators_combine_vectors() {
    let db = load(
        60,
        &[
            "a{x=\"1\"} 1",
            "a{x=\"2\"} 2",
            "b{x=\"2\"} 3",
            "b{x=\"3\"} 4",
        ],
    );
    assert_eq!(query_at(&db, 0, "a and b"), ["a{x=\"2\"} 2"]);
    assert_eq!(query_at(&db, 0, "a unless b"), ["a{x=\"1\"} 1"]);
    assert_eq!(
        query_at(&db, 0, "a or b"),
        ["a{x=\"1\"} 1", "a{x=\"2\"} 2", "b{x=\"3\"} 4"]
    );
    assert_eq!(query_at(&db, 0, "a and on() vector(1)").len(), 2);
    assert_eq!(query_at(&db, 0, "a or on() b").len(), 2);
    assert_eq!(query_at(&db, 0, "a and nothing").len(), 0);
    assert_eq!(query_at(&db, 0, "a unless nothing").len(), 2);
    assert_eq!(query_at(&db, 0, "nothing or b").len(), 2);
}

#[test]
fn set_operators_decide_per_step() {
    let db = load(60, &["a 1 2 3", "b _ 5 stale"]);
    assert_eq!(over(&db, 0, 120, 60, "a and on() b"), ["a 60:2"]);
    assert_eq!(over(&db, 0, 120, 60, "a unless on() b"), ["a 0:1 120:3"]);
    assert_eq!(
        over(&db, 0, 120, 60, "b or on() a"),
        ["a 0:1 120:3", "b 60:5"]
    );
}

#[test]
fn dropped_names_that_clash_are_error() {
    let db = load(60, &["a{x=\"1\"} 1", "b{x=\"1\"} 2"]);
    let error = error_at(&db, 0, "-{x=\"1\"}");
    assert_eq!(
        error,
        "execution: several series of a result have the labels {x=\"1\"}"
    );
    assert!(error_at(&db, 0, "rate({x=\"1\"}[5m]) or abs({x=\"1\"})").contains("the labels"));
    // Series with values at different steps don't clash.
    let db = load(60, &["a 1 stale", "b _ 2"]);
    assert_eq!(
        over(&db, 0, 60, 60, "-{__name__=~\"a|b\"}"),
        ["{} 0:-1 60:-2"]
    );
}

/// The answers of `fill-modifier.test` of Prometheus.
#[test]
fn fill_gives_a_side_the_series_that_it_lacks() {
    let db = load(
        60,
        &[
            "l{a=\"1\"} 10",
            "l{a=\"2\"} 20",
            "r{a=\"1\"} 100",
            "r{a=\"3\"} 300",
            "many{a=\"1\",b=\"x\"} 1",
            "many{a=\"2\",b=\"y\"} 2",
        ],
    );
    for (query, expected) in [
        (
            "l + fill(0) r",
            &["{a=\"1\"} 110", "{a=\"2\"} 20", "{a=\"3\"} 300"][..],
        ),
        ("l + fill_left(5) r", &["{a=\"1\"} 110", "{a=\"3\"} 305"]),
        ("l + fill_right(5) r", &["{a=\"1\"} 110", "{a=\"2\"} 25"]),
        ("l != fill(20) r", &["l{a=\"1\"} 10", "{a=\"3\"} 20"]),
        (
            "l == bool fill(20) r",
            &["{a=\"1\"} 0", "{a=\"2\"} 1", "{a=\"3\"} 0"],
        ),
        (
            "l - fill_right(1) nothing",
            &["{a=\"1\"} 9", "{a=\"2\"} 19"],
        ),
        ("nothing - fill(1) nothing", &[]),
        (
            "many * on(a) group_left fill(7) r",
            &[
                "{a=\"1\",b=\"x\"} 100",
                "{a=\"2\",b=\"y\"} 14",
                "{a=\"3\"} 2100",
            ],
        ),
        (
            "r - on(a) group_right fill_left(7) many",
            &["{a=\"1\",b=\"x\"} 99", "{a=\"2\",b=\"y\"} 5"],
        ),
    ] {
        let mut answer = query_at(&db, 0, query);
        answer.sort_by_key(|line| line.find('{').map(|at| line[at..].to_owned()));
        assert_eq!(answer, expected, "{query}");
    }
}

#[test]
fn fill_follows_each_step() {
    let db = load(60, &["l 1 _ 3 _x10", "r _ 20 30 _x10"]);
    assert_eq!(
        over(
            &db,
            0,
            120,
            60,
            "last_over_time(l[1m]) + fill(0) last_over_time(r[1m])"
        ),
        ["{} 0:1 60:20 120:33"]
    );
}

#[test]
fn fill_is_for_two_vectors() {
    let db = load(60, &[]);
    for query in ["l and fill(0) r", "l + fill(0) 1", "1 + fill(0) l"] {
        assert!(error_at(&db, 0, query).starts_with("bad_data: "), "{query}");
    }
}
