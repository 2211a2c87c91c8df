use crate::support::{at, error_at, load};

#[test]
fn label_replace_captures() {
    let db = load(60, &["up{instance=\"host1:9090\"} 1"]);
    assert_eq!(
        at(
            &db,
            0,
            "label_replace(up, \"host\", \"$1\", \"instance\", \"(.*):.*\")"
        ),
        ["up{host=\"host1\",instance=\"host1:9090\"} 1"],
    );
    assert_eq!(
        at(
            &db,
            0,
            "label_replace(up, \"p\", \"${port}!\", \"instance\", \".*:(?P<port>.*)\")"
        ),
        ["up{instance=\"host1:9090\",p=\"9090!\"} 1"],
    );
}

#[test]
fn label_replace_matches_the_whole_value_or_leaves_the_series() {
    let db = load(60, &["up{a=\"xyz\"} 1"]);
    assert_eq!(
        at(&db, 0, "label_replace(up, \"a\", \"n\", \"a\", \"xy\")"),
        ["up{a=\"xyz\"} 1"]
    );
    assert_eq!(
        at(&db, 0, "label_replace(up, \"a\", \"\", \"a\", \".*\")"),
        ["up 1"]
    );
    // A label that is not there has the empty value.
    assert_eq!(
        at(&db, 0, "label_replace(up, \"b\", \"n\", \"b\", \"\")"),
        ["up{a=\"xyz\",b=\"n\"} 1"]
    );
    assert_eq!(
        at(
            &db,
            0,
            "label_replace(up, \"__name__\", \"down\", \"\", \"\")"
        ),
        ["down{a=\"xyz\"} 1"],
    );
}

#[test]
fn label_replace_may_not_make_two_series_one() {
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
fn label_join_joins_in_order() {
    let db = load(60, &["up{a=\"1\",b=\"2\"} 1"]);
    assert_eq!(
        at(
            &db,
            0,
            "label_join(up, \"c\", \"-\", \"b\", \"none\", \"a\")"
        ),
        ["up{a=\"1\",b=\"2\",c=\"2--1\"} 1"],
    );
    assert_eq!(
        at(&db, 0, "label_join(up, \"a\", \"-\")"),
        ["up{b=\"2\"} 1"]
    );
}
