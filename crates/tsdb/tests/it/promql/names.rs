//! Functions and operators drop the metric's name at the end of a query, so the query itself can
//! still use the name.

use crate::support::promql::{error_at, load, over, query_at};
use tsdb::Db;

fn counters() -> Db {
    load(
        60,
        &[
            "a_total{env=\"1\"} 0+60x10",
            "a_total{env=\"2\"} 0+120x10",
            "b_total{env=\"1\"} 0+180x10",
        ],
    )
}

#[test]
fn answer_omits_dropped_name() {
    let db = counters();
    for query in [
        "-a_total{env=\"1\"}",
        "a_total{env=\"1\"} * 2",
        "a_total{env=\"1\"} == bool a_total",
        "a_total{env=\"1\"} > bool 1",
        "abs(a_total{env=\"1\"})",
        "rate(a_total{env=\"1\"}[5m])",
        "timestamp(a_total{env=\"1\"})",
        "last_over_time(rate(a_total{env=\"1\"}[5m])[5m:1m])",
        "rate(a_total{env=\"1\"}[5m]) > 0",
        "rate(a_total{env=\"1\"}[5m]) > ignoring(env) group_left vector(0)",
        "topk(1, rate(a_total{env=\"1\"}[5m]))",
    ] {
        let answer = query_at(&db, 600, query);
        assert!(
            answer.len() == 1 && answer[0].starts_with("{env=\"1\"}"),
            "{query}: {answer:?}"
        );
    }
    let subquery = "rate(a_total{env=\"1\"}[5m])[2m:1m]";
    assert_eq!(query_at(&db, 600, subquery), ["{env=\"1\"} 540:1 600:1"]);
}

#[test]
fn type_and_unit_are_dropped_with_name() {
    let db = load(
        60,
        &[
            "c{__type__=\"counter\",__unit__=\"bytes\",x=\"1\"} 2",
            "d{x=\"1\"} 3",
        ],
    );
    assert_eq!(query_at(&db, 0, "-c"), ["{x=\"1\"} -2"]);
    assert_eq!(query_at(&db, 0, "c * d"), ["{x=\"1\"} 6"]);
    assert_eq!(query_at(&db, 0, "sum without () (c)"), ["{x=\"1\"} 2"]);
    assert_eq!(
        query_at(&db, 0, "sum by (__type__) (c)"),
        ["{__type__=\"counter\"} 2"]
    );
    assert_eq!(
        query_at(&db, 0, "absent(e{__type__=\"counter\",x=\"1\"})"),
        ["{x=\"1\"} 1"]
    );
}

#[test]
fn name_groups_before_it_is_dropped() {
    let db = counters();
    let rates = "rate({__name__=~\"._total\"}[5m])";
    assert_eq!(query_at(&db, 600, &format!("sum({rates})")), ["{} 6"]);
    assert_eq!(
        query_at(&db, 600, &format!("sum by (env) ({rates})")),
        ["{env=\"1\"} 4", "{env=\"2\"} 2"]
    );
    assert_eq!(
        query_at(&db, 600, "sum by (__name__) (rate(a_total[5m]))"),
        ["{} 3"]
    );
    // Two groups are left, and their answers have the same labels.
    let error = error_at(&db, 600, &format!("sum by (__name__) ({rates})"));
    assert_eq!(
        error,
        "execution: several series of a result have the labels {}"
    );
    assert_eq!(
        query_at(&db, 600, "-a_total == on(__name__, env) -a_total").len(),
        2
    );
}

#[test]
fn group_drops_name_if_one_series_does() {
    let db = counters();
    for (operand, expected) in [
        (
            "a_total{env=\"1\"} or rate(a_total{env=\"2\"}[5m])",
            "{} 602",
        ),
        (
            "rate(a_total{env=\"2\"}[5m]) or a_total{env=\"1\"}",
            "{} 602",
        ),
        ("a_total{env=\"3\"} or rate(a_total{env=\"2\"}[5m])", "{} 2"),
        (
            "rate(a_total{env=\"3\"}[5m]) or a_total{env=\"1\"}",
            "a_total 600",
        ),
    ] {
        let query = format!("sum by (__name__) ({operand})");
        assert_eq!(query_at(&db, 600, &query), [expected], "{query}");
    }
}

#[test]
fn label_functions_read_and_keep_dropped_name() {
    let db = counters();
    let replace = |operand: &str, target: &str| {
        format!("label_replace({operand}, \"{target}\", \"$1\", \"__name__\", \"(.+)_total\")")
    };
    let rates = "rate({env=\"1\"}[5m])";
    assert_eq!(
        query_at(&db, 600, &replace(rates, "of")),
        ["{env=\"1\",of=\"a\"} 1", "{env=\"1\",of=\"b\"} 3"]
    );
    assert_eq!(
        query_at(&db, 600, &replace(rates, "__name__")),
        ["a{env=\"1\"} 1", "b{env=\"1\"} 3"]
    );
    let sums = format!("sum by (__name__) ({rates})");
    assert_eq!(
        query_at(&db, 600, &replace(&sums, "__name__")),
        ["a 1", "b 3"]
    );
    assert_eq!(
        query_at(
            &db,
            600,
            "label_join(-{env=\"1\"}, \"__name__\", \"-\", \"__name__\", \"env\")"
        ),
        ["a_total-1{env=\"1\"} -600", "b_total-1{env=\"1\"} -1800"]
    );
    let quantile = "histogram_quantile(0, label_replace(a_total, \"le\", \"+Inf\", \"\", \"\"))";
    assert_eq!(
        query_at(&db, 600, &replace(quantile, "__name__")),
        ["a{env=\"1\"} NaN", "a{env=\"2\"} NaN"]
    );
    // A series that the pattern doesn't match still loses its name.
    let unmatched = "label_replace(-a_total{env=\"1\"}, \"__name__\", \"x\", \"env\", \"2\")";
    assert_eq!(query_at(&db, 600, unmatched), ["{env=\"1\"} -600"]);
}

#[test]
fn series_with_equal_labels_at_different_steps_become_one() {
    let db = load(600, &["a 1 _", "b 3 4"]);
    assert_eq!(over(&db, 0, 1200, 600, "-a or -b"), ["{} 0:-1 600:-4"]);
    let db = load(600, &["a 1 _", "b _ 4"]);
    for query in ["-a or -b", "-a or on(__name__) -b"] {
        assert_eq!(
            over(&db, 0, 1200, 600, query),
            ["{} 0:-1 600:-4"],
            "{query}"
        );
    }
    // One series can keep its name at one step and lose it at another.
    let db = load(60, &["a _ 1 2 3", "b 1 stale"]);
    assert_eq!(
        over(&db, 60, 120, 60, "a > 1 or -a"),
        ["{} 60:-1", "a 120:2"]
    );
}

#[test]
fn names_beyond_letters_need_no_quotes() {
    let db = load(
        60,
        &[
            "{\"http.requests\",\"host.name\"=\"a\"} 1",
            "{\"http.requests\",\"host.name\"=\"b\"} 2",
            "{\"info..\",\"host.name\"=\"a\",\"équipe\"=\"x\"} 5",
            "{\"rate.total\"} 7",
            "{\"温度\"} 9",
        ],
    );
    for (query, same) in [
        ("http.requests", "{\"http.requests\"}"),
        ("http.requests{}", "{\"http.requests\"}"),
        (
            "http.requests # all\n {host.name!=\"b\"} > 0.5",
            "{\"http.requests\",\"host.name\"!=\"b\"} > 0.5",
        ),
        (
            "sum by (host.name) (http.requests)",
            "sum by (\"host.name\") ({\"http.requests\"})",
        ),
        (
            "http.requests * on(host.name) group_left(équipe) info..",
            "{\"http.requests\"} * on(\"host.name\") group_left(\"équipe\") {\"info..\"}",
        ),
        ("rate.total + 1.5e0", "{\"rate.total\"} + 1.5"),
        ("sum_over_time(温度[5m])", "sum_over_time({\"温度\"}[5m])"),
        ("max(温度{} offset 0)", "max({\"温度\"})"),
    ] {
        let answer = query_at(&db, 0, query);
        assert_eq!(answer, query_at(&db, 0, same), "{query}");
        assert!(!answer.is_empty(), "{query}");
    }
    assert_eq!(query_at(&db, 0, "http.requests{host.name=\"b\"}").len(), 1);
}
