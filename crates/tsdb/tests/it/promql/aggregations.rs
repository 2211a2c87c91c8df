use crate::support::promql::{assert_near, error_at, load, number, over, query_at};
use tsdb::Db;

fn requests() -> Db {
    load(
        60,
        &[
            "r{job=\"api\",instance=\"0\"} 100",
            "r{job=\"api\",instance=\"1\"} 200",
            "r{job=\"app\",instance=\"0\"} 300",
            "r{job=\"app\",instance=\"1\"} 400",
        ],
    )
}

#[test]
fn aggregation_groups_by_and_without_labels() {
    let db = requests();
    assert_eq!(query_at(&db, 0, "sum(r)"), ["{} 1000"]);
    assert_eq!(
        query_at(&db, 0, "sum by (job) (r)"),
        ["{job=\"api\"} 300", "{job=\"app\"} 700"]
    );
    assert_eq!(
        query_at(&db, 0, "sum without (job) (r)"),
        ["{instance=\"0\"} 400", "{instance=\"1\"} 600"]
    );
    assert_eq!(query_at(&db, 0, "sum by (nothing) (r)"), ["{} 1000"]);
    assert_eq!(query_at(&db, 0, "sum by (__name__) (r)"), ["r 1000"]);
    assert_eq!(query_at(&db, 0, "sum without () (r)").len(), 4);
}

#[test]
fn folding_aggregations_compute_values() {
    let db = requests();
    for (query, expected) in [
        ("avg(r)", 250.0),
        ("min(r)", 100.0),
        ("max(r)", 400.0),
        ("count(r)", 4.0),
        ("group(r)", 1.0),
        ("stdvar(r)", 12_500.0),
        ("stddev(r)", 12_500.0_f64.sqrt()),
        ("quantile(0.5, r)", 250.0),
        ("quantile(0, r)", 100.0),
        ("quantile(1, r)", 400.0),
        ("quantile(-1, r)", f64::NEG_INFINITY),
        ("quantile(2, r)", f64::INFINITY),
    ] {
        assert_near(&db, 0, query, expected);
    }
    assert!(number(&db, 0, "quantile(NaN, r)").is_nan());
}

#[test]
fn quantile_at_value_ignores_infinite_neighbour() {
    let db = load(
        60,
        &[
            "v{a=\"1\"} -Inf",
            "v{a=\"2\"} 1",
            "v{a=\"3\"} 2",
            "v{a=\"4\"} 3",
            "v{a=\"5\"} Inf",
        ],
    );
    for (query, expected) in [
        ("quantile(0, v)", f64::NEG_INFINITY),
        ("quantile(0.25, v)", 1.0),
        ("quantile(0.75, v)", 3.0),
        ("quantile(1, v)", f64::INFINITY),
    ] {
        assert_eq!(number(&db, 0, query), expected, "{query}");
    }
}

#[test]
fn nan_is_least_in_quantile_and_ignored_by_min_max() {
    let db = load(60, &["v{a=\"1\"} NaN", "v{a=\"2\"} 2", "v{a=\"3\"} 3"]);
    assert_eq!(number(&db, 0, "min(v)"), 2.0);
    assert_eq!(number(&db, 0, "max(v)"), 3.0);
    assert_eq!(number(&db, 0, "quantile(0.5, v)"), 2.0);
    assert!(number(&db, 0, "sum(v)").is_nan());
    assert!(number(&db, 0, "max(v{a=\"1\"})").is_nan());
}

#[test]
fn sum_and_mean_compensate_rounding() {
    let db = load(
        60,
        &["v{a=\"1\"} 1e100", "v{a=\"2\"} 1", "v{a=\"3\"} -1e100"],
    );
    assert_eq!(number(&db, 0, "sum(v)"), 1.0);
    let db = load(
        60,
        &[
            "v{a=\"1\"} 1.7e308",
            "v{a=\"2\"} 1.7e308",
            "i{a=\"1\"} Inf",
            "i{a=\"2\"} -Inf",
        ],
    );
    assert_near(&db, 0, "avg(v)", 1.7e308);
    assert_eq!(number(&db, 0, "sum(v)"), f64::INFINITY);
    assert!(number(&db, 0, "avg(i)").is_nan());
}

#[test]
fn topk_and_bottomk_keep_labels_and_order() {
    let db = requests();
    assert_eq!(
        query_at(&db, 0, "topk(2, r)"),
        [
            "r{instance=\"1\",job=\"app\"} 400",
            "r{instance=\"0\",job=\"app\"} 300"
        ],
    );
    assert_eq!(
        query_at(&db, 0, "bottomk by (job) (1, r)"),
        [
            "r{instance=\"0\",job=\"api\"} 100",
            "r{instance=\"0\",job=\"app\"} 300"
        ],
    );
    assert!(query_at(&db, 0, "topk(0, r)").is_empty());
    assert!(query_at(&db, 0, "topk(-5, r)").is_empty());
    assert_eq!(query_at(&db, 0, "topk(1e30, r)").len(), 4);
    assert!(error_at(&db, 0, "topk(NaN, r)").starts_with("execution: "));
}

#[test]
fn nan_ranks_last_in_topk_and_bottomk() {
    let db = load(60, &["v{a=\"1\"} NaN", "v{a=\"2\"} 2", "v{a=\"3\"} 3"]);
    assert_eq!(query_at(&db, 0, "topk(1, v)"), ["v{a=\"3\"} 3"]);
    assert_eq!(query_at(&db, 0, "bottomk(1, v)"), ["v{a=\"2\"} 2"]);
    assert_eq!(query_at(&db, 0, "topk(3, v)")[2], "v{a=\"1\"} NaN");
}

#[test]
fn topk_ranks_each_step_separately() {
    let db = load(60, &["v{a=\"1\"} 1 5", "v{a=\"2\"} 2 4"]);
    assert_eq!(
        over(&db, 0, 60, 60, "topk(1, v)"),
        ["v{a=\"1\"} 60:5", "v{a=\"2\"} 0:2"]
    );
}

#[test]
fn count_values_labels_each_value() {
    let db = load(
        60,
        &["v{a=\"1\"} 1 1", "v{a=\"2\"} 1 0.5", "v{a=\"3\"} Inf Inf"],
    );
    assert_eq!(
        query_at(&db, 0, "count_values(\"value\", v)"),
        ["{value=\"+Inf\"} 1", "{value=\"1\"} 2"],
    );
    assert_eq!(
        over(&db, 0, 60, 60, "count_values(\"value\", v{a!=\"3\"})"),
        ["{value=\"0.5\"} 60:1", "{value=\"1\"} 0:2 60:1"],
    );
    assert!(error_at(&db, 0, "count_values(\"\", v)").contains("count_values"));
}

#[test]
fn limitk_keeps_the_first_series_of_each_group_at_each_step() {
    let db = load(
        60,
        &["v{a=\"1\"} _ 1", "v{a=\"2\"} 2 2", "v{a=\"3\",b=\"x\"} 3 3"],
    );
    assert_eq!(
        over(&db, 0, 60, 60, "limitk(1, v)"),
        ["v{a=\"1\"} 60:1", "v{a=\"2\"} 0:2"]
    );
    assert_eq!(query_at(&db, 60, "limitk by (b) (1, v)").len(), 2);
    assert_eq!(query_at(&db, 60, "limitk(100, v)").len(), 3);
    assert!(query_at(&db, 60, "limitk(-1, v)").is_empty());
}

/// A share and its complement part the series by a hash of the labels.
#[test]
fn limit_ratio_keeps_a_share_and_its_negative_keeps_the_rest() {
    let series: Vec<_> = (0..100)
        .map(|number| format!("v{{a=\"{number}\"}} 1"))
        .collect();
    let series: Vec<&str> = series.iter().map(String::as_str).collect();
    let db = load(60, &series);
    let kept = |ratio: &str| query_at(&db, 0, &format!("limit_ratio({ratio}, v)"));
    let (few, rest) = (kept("0.3"), kept("-0.7"));
    assert!((20..40).contains(&few.len()), "{}", few.len());
    assert!(few.iter().all(|series| !rest.contains(series)));
    assert_eq!(few.len() + rest.len(), 100);
    assert_eq!(
        (kept("0").len(), kept("7").len(), kept("-7").len()),
        (0, 100, 100)
    );
    assert!(error_at(&db, 0, "limit_ratio(NaN, v)").contains("limit_ratio"));
}
