use crate::support::promql::{error_at, load, query_at};
use tsdb::promql::{QueryError, parse_selector};

#[test]
fn label_replace_uses_captures() {
    let db = load(60, &["up{instance=\"host1:9090\"} 1"]);
    assert_eq!(
        query_at(
            &db,
            0,
            "label_replace(up, \"host\", \"$1\", \"instance\", \"(.*):.*\")"
        ),
        ["up{host=\"host1\",instance=\"host1:9090\"} 1"],
    );
    assert_eq!(
        query_at(
            &db,
            0,
            "label_replace(up, \"p\", \"${port}!\", \"instance\", \".*:(?P<port>.*)\")"
        ),
        ["up{instance=\"host1:9090\",p=\"9090!\"} 1"],
    );
}

#[test]
fn label_replace_matches_whole_value_or_keeps_series() {
    let db = load(60, &["up{a=\"xyz\"} 1"]);
    assert_eq!(
        query_at(&db, 0, "label_replace(up, \"a\", \"n\", \"a\", \"xy\")"),
        ["up{a=\"xyz\"} 1"]
    );
    assert_eq!(
        query_at(&db, 0, "label_replace(up, \"a\", \"\", \"a\", \".*\")"),
        ["up 1"]
    );
    // An absent label has an empty value.
    assert_eq!(
        query_at(&db, 0, "label_replace(up, \"b\", \"n\", \"b\", \"\")"),
        ["up{a=\"xyz\",b=\"n\"} 1"]
    );
    assert_eq!(
        query_at(
            &db,
            0,
            "label_replace(up, \"__name__\", \"down\", \"\", \"\")"
        ),
        ["down{a=\"xyz\"} 1"],
    );
}

#[test]
fn label_replace_that_merges_series_is_error() {
    let db = load(60, &["up{a=\"1\"} 1", "up{a=\"2\"} 2"]);
    let error = error_at(&db, 0, "label_replace(up, \"a\", \"same\", \"a\", \".*\")");
    assert_eq!(
        error,
        "execution: several series of a result have the labels up{a=\"same\"}"
    );
    assert!(
        error_at(&db, 0, "label_replace(up, \"a\", \"\", \"a\", \"(\")").contains("the pattern")
    );
    assert!(
        error_at(&db, 0, "label_replace(up, \"\", \"\", \"a\", \"\")").contains("target label")
    );
}

#[test]
fn label_join_joins_values_in_order() {
    let db = load(60, &["up{a=\"1\",b=\"2\"} 1"]);
    assert_eq!(
        query_at(
            &db,
            0,
            "label_join(up, \"c\", \"-\", \"b\", \"none\", \"a\")"
        ),
        ["up{a=\"1\",b=\"2\",c=\"2--1\"} 1"],
    );
    assert_eq!(
        query_at(&db, 0, "label_join(up, \"a\", \"-\")"),
        ["up{b=\"2\"} 1"]
    );
}

#[test]
fn sort_by_label_orders_naturally() {
    let db = load(
        60,
        &[
            "v{host=\"b10\",a=\"1\"} 1",
            "v{host=\"b9\",a=\"1\"} 2",
            "v{host=\"b9\",a=\"02\"} 3",
            "v{host=\"a\",a=\"1\"} 4",
            "v{a=\"1\"} 5",
        ],
    );
    let values = |query: &str| -> Vec<String> {
        let lines = query_at(&db, 0, query);
        lines
            .iter()
            .map(|line| line[line.len() - 1..].to_owned())
            .collect()
    };
    assert_eq!(
        values("sort_by_label(v, \"host\")"),
        ["5", "4", "3", "2", "1"]
    );
    assert_eq!(
        values("sort_by_label(v, \"host\", \"a\")"),
        ["5", "4", "2", "3", "1"]
    );
    assert_eq!(
        values("sort_by_label_desc(v, \"host\", \"a\")"),
        ["1", "3", "2", "4", "5"]
    );
    // Without labels, all labels decide.
    assert_eq!(values("sort_by_label(v)"), ["3", "5", "4", "1", "2"]);
}

#[test]
fn escaped_bytes_are_utf_8_or_an_error() {
    let db = load(60, &["up{a=\"é\"} 1"]);
    let found = ["up{a=\"é\"} 1"];
    assert_eq!(query_at(&db, 0, r#"up{a="\xc3\xa9"}"#), found);
    assert_eq!(query_at(&db, 0, r#"up{a='\303\251'} # "\xff""#), found);
    assert_eq!(query_at(&db, 0, r#"up{a="\u00e9"}"#), found);
    // Neither an escaped backslash nor a raw string begins the escape of a byte.
    assert_eq!(query_at(&db, 0, r#""\\xff""#), [r"\xff"]);
    assert_eq!(query_at(&db, 0, r"`\xff`"), [r"\xff"]);
    assert_eq!(query_at(&db, 0, r#""\x41\101""#), ["AA"]);
    for query in [
        r#"label_replace(up, "\xff", "x", "a", ".*")"#,
        r#"label_join(up, "\377", "-", "a")"#,
        r#"up{a="\xe9"}"#,
        r#"up{a="\xc3é"}"#,
        r#""\xc3""#,
    ] {
        let error = error_at(&db, 0, query);
        assert_eq!(error, "bad_data: a string is not valid UTF-8", "{query}");
    }
}

#[test]
fn parse_selector_returns_matchers() {
    let matchers = parse_selector(r#"up{job="node",host=~"a|b"}"#).expect("a selector");
    let texts: Vec<String> = matchers.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [r#"__name__="up""#, r#"job="node""#, r#"host=~"a|b""#]
    );
    for other in [
        "up[5m]",
        "up offset 1m",
        "up @ 5",
        "rate(up[1m])",
        "1",
        "{}",
        "up{",
    ] {
        assert!(
            matches!(parse_selector(other), Err(QueryError::Syntax { .. })),
            "{other}"
        );
    }
}
