use crate::support::promql::{error_at, load, over, query_at};
use tsdb::Db;

fn target() -> Db {
    load(
        60,
        &[
            "m{instance=\"a\",job=\"1\"} 0 1 2",
            "m{instance=\"b\",job=\"1\",data=\"own\"} 3 4 5",
            "m{instance=\"c\",job=\"1\"} 6 7 8",
            "target_info{instance=\"a\",job=\"1\",data=\"x\",more=\"y\"} 1 1 1",
            "target_info{instance=\"b\",job=\"1\",data=\"z\"} 1 1 1",
            "build_info{instance=\"a\",job=\"1\",version=\"9\"} 1 1 1",
        ],
    )
}

#[test]
fn info_adds_labels_of_target() {
    let db = target();
    assert_eq!(
        query_at(&db, 60, "info(m)"),
        [
            "m{data=\"own\",instance=\"b\",job=\"1\"} 4",
            "m{data=\"x\",instance=\"a\",job=\"1\",more=\"y\"} 1",
            "m{instance=\"c\",job=\"1\"} 7",
        ]
    );
    assert_eq!(
        query_at(&db, 60, "info(m{instance=\"a\"}, {__name__=~\".+_info\"})"),
        ["m{data=\"x\",instance=\"a\",job=\"1\",more=\"y\",version=\"9\"} 1"]
    );
    assert_eq!(
        query_at(
            &db,
            60,
            "info(m{instance=\"a\"}, {__name__!=\"target_info\",version=~\".+\"})"
        ),
        ["m{instance=\"a\",job=\"1\",version=\"9\"} 1"]
    );
    assert_eq!(
        query_at(&db, 60, "info(abs(m{instance=\"a\"}), {more=~\".+\"})"),
        ["{instance=\"a\",job=\"1\",more=\"y\"} 1"]
    );
}

#[test]
fn matchers_choose_labels_and_require_info() {
    let db = target();
    assert_eq!(
        query_at(&db, 60, "info(m, {more=~\".+\"})"),
        ["m{instance=\"a\",job=\"1\",more=\"y\"} 1"]
    );
    // A matcher of an absent label requires nothing.
    assert_eq!(
        query_at(&db, 60, "info(m, {data=~\".+\",none=~\".*\"})").len(),
        2
    );
    assert!(query_at(&db, 60, "info(m, {none=~\".+\"})").is_empty());
    assert!(query_at(&db, 60, "info(m, {__name__=\"none\",data=~\".+\"})").is_empty());
    assert_eq!(query_at(&db, 60, "info(m, {__name__=\"none\"})").len(), 3);
}

#[test]
fn info_series_stay_as_they_are() {
    let db = target();
    let build = "build_info{instance=\"a\",job=\"1\",version=\"9\"} 1";
    assert_eq!(
        query_at(&db, 60, "info(build_info, {__name__=~\".+_info\"})"),
        [build]
    );
    // It is not an info series of this call.
    assert_eq!(
        query_at(
            &db,
            60,
            "info(build_info, {__name__=~\"t.+\",__name__=~\".+_info\"})"
        ),
        ["build_info{data=\"x\",instance=\"a\",job=\"1\",more=\"y\",version=\"9\"} 1"]
    );
}

#[test]
fn series_without_target_get_no_labels() {
    let db = load(
        60,
        &["m 1", "m{instance=\"a\"} 2", "target_info{data=\"x\"} 1"],
    );
    assert_eq!(query_at(&db, 0, "info(m)"), ["m 1", "m{instance=\"a\"} 2"]);
    assert_eq!(query_at(&db, 0, "info(m{instance=\"\"})"), ["m 1"]);
    let db = load(
        60,
        &[
            "m{instance=\"a\"} 2",
            "m{instance=\"a\",job=\"1\"} 3",
            "target_info{instance=\"a\",data=\"x\"} 1",
        ],
    );
    assert_eq!(
        query_at(&db, 0, "info(m)"),
        [
            "m{data=\"x\",instance=\"a\"} 2",
            "m{instance=\"a\",job=\"1\"} 3"
        ]
    );
}

#[test]
fn newest_info_series_decides() {
    let db = load(
        60,
        &[
            "m{instance=\"a\"} 0 1 2",
            "target_info{instance=\"a\",data=\"old\"} 1 1 _",
            "target_info{instance=\"a\",data=\"new\"} _ _ 1",
        ],
    );
    assert_eq!(
        over(&db, 0, 120, 60, "info(m)"),
        [
            "m{data=\"new\",instance=\"a\"} 120:2",
            "m{data=\"old\",instance=\"a\"} 0:0 60:1"
        ]
    );
    // The info series are read at the time at which the series are read, if there is only one.
    for (query, expected) in [
        ("info(m @ 60)", "m{data=\"old\",instance=\"a\"} 1"),
        ("info(m offset 1m)", "m{data=\"old\",instance=\"a\"} 1"),
        (
            "info(last_over_time((m offset 1m)[5m:1m] @ 180))",
            "m{data=\"new\",instance=\"a\"} 2",
        ),
        (
            "info(sum by (instance) (m @ 60) or m)",
            "{data=\"new\",instance=\"a\"} 1",
        ),
    ] {
        assert_eq!(query_at(&db, 120, query), [expected], "{query}");
    }
}

#[test]
fn conflicting_info_is_error() {
    let error = "execution: info series of the target {instance=\"a\"} have conflicting labels";
    let tie = load(
        60,
        &[
            "m{instance=\"a\"} 0",
            "target_info{instance=\"a\",data=\"x\"} 1",
            "target_info{instance=\"a\",data=\"y\"} 1",
        ],
    );
    assert_eq!(error_at(&tie, 0, "info(m)"), error);
    let metrics = load(
        60,
        &[
            "m{instance=\"a\"} 0",
            "m{instance=\"a\",data=\"own\"} 1",
            "target_info{instance=\"a\",data=\"x\"} 1",
            "build_info{instance=\"a\",data=\"y\"} 1",
        ],
    );
    assert_eq!(
        error_at(&metrics, 0, "info(m, {__name__=~\".+_info\"})"),
        error
    );
    // A label of the series itself wins over both.
    assert_eq!(
        query_at(
            &metrics,
            0,
            "info(m{data=\"own\"}, {__name__=~\".+_info\"})"
        ),
        ["m{data=\"own\",instance=\"a\"} 1"]
    );
}

#[test]
fn second_argument_must_be_matchers() {
    let db = target();
    for argument in [
        "target_info",
        "{data=\"x\"} offset 1m",
        "{data=\"x\"} @ 0",
        "vector(1)",
    ] {
        let error = error_at(&db, 0, &format!("info(m, {argument})"));
        assert!(
            error.starts_with("bad_data: the second argument of info"),
            "{error}"
        );
    }
}

#[test]
fn matchers_of_info_may_all_accept_an_absent_label() {
    let db = load(
        60,
        &[
            "m{instance=\"a\",job=\"1\"} 1",
            "target_info{instance=\"a\",job=\"1\",data=\"info\",other=\"x\"} 1",
        ],
    );
    for matchers in ["data=~\".*\"", "data!=\"none\"", "data!~\"none\""] {
        assert_eq!(
            query_at(&db, 0, &format!("info(m, {{{matchers}}})")),
            ["m{data=\"info\",instance=\"a\",job=\"1\"} 1"],
            "{matchers}"
        );
    }
    // Anywhere else, such matchers would select all series.
    for query in ["{a=~\".*\"}", "{}", "topk(1, {a=~\".*\"})", "topk(1, {})"] {
        assert!(error_at(&db, 0, query).starts_with("bad_data: "), "{query}");
    }
}
