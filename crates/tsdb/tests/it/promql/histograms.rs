use crate::support::promql::{assert_near, error_at, load, number, query_at};
use tsdb::Db;

fn histogram(counts: &[(&str, &str)]) -> Db {
    let series: Vec<String> = counts
        .iter()
        .map(|(le, count)| format!("h_bucket{{le=\"{le}\"}} {count}"))
        .collect();
    let series: Vec<&str> = series.iter().map(String::as_str).collect();
    load(60, &series)
}

#[test]
fn fraction_interpolates_linearly_in_bucket() {
    let db = histogram(&[("0.1", "10"), ("0.2", "30"), ("0.4", "40"), ("+Inf", "50")]);
    for (limits, expected) in [
        ("0, 0.1", 0.2),
        ("-1, 0.1", 0.2),
        ("0.05, 0.15", 0.3),
        ("0.2, 0.3", 0.1),
        ("-Inf, +Inf", 1.0),
        ("0.4, +Inf", 0.2),
        // The bucket for `+Inf` has no width to interpolate in.
        ("0.4, 9", 0.0),
        ("0.3, 0.1", 0.0),
    ] {
        let query = format!("histogram_fraction({limits}, h_bucket)");
        assert_near(&db, 0, &query, expected);
    }
    assert!(number(&db, 0, "histogram_fraction(NaN, 1, h_bucket)").is_nan());
    // Below a bound that is not positive, all observations of the lowest bucket count.
    let negative = histogram(&[("-1", "10"), ("0", "20"), ("+Inf", "20")]);
    assert_near(&negative, 0, "histogram_fraction(-2, 0, h_bucket)", 0.5);
    let without_infinity = histogram(&[("1", "10")]);
    assert!(number(&without_infinity, 0, "histogram_fraction(0, 1, h_bucket)").is_nan());
}

/// Prometheus skips samples that are no native histograms.
#[test]
fn functions_of_native_histograms_skip_other_samples() {
    let db = load(60, &["v 1"]);
    for name in ["avg", "count", "stddev", "stdvar", "sum"] {
        let query = format!("histogram_{name}(v)");
        assert_eq!(query_at(&db, 0, &query), [""; 0], "{query}");
    }
}

#[test]
fn quantile_interpolates_linearly_in_bucket() {
    let db = histogram(&[("0.1", "10"), ("0.2", "30"), ("0.4", "40"), ("+Inf", "40")]);
    for (quantile, expected) in [
        ("0", 0.0),
        ("0.125", 0.05),
        ("0.25", 0.1),
        ("0.5", 0.15),
        ("1", 0.4),
    ] {
        assert_near(
            &db,
            0,
            &format!("histogram_quantile({quantile}, h_bucket)"),
            expected,
        );
    }
    assert_eq!(
        number(&db, 0, "histogram_quantile(-1, h_bucket)"),
        f64::NEG_INFINITY
    );
    assert_eq!(
        number(&db, 0, "histogram_quantile(2, h_bucket)"),
        f64::INFINITY
    );
    assert!(number(&db, 0, "histogram_quantile(NaN, h_bucket)").is_nan());
}

#[test]
fn quantile_in_infinite_bucket_is_last_bound() {
    let db = histogram(&[("1", "1"), ("2", "2"), ("+Inf", "10")]);
    assert_eq!(number(&db, 0, "histogram_quantile(0.9, h_bucket)"), 2.0);
}

#[test]
fn first_bucket_below_zero_returns_its_bound() {
    let db = histogram(&[("-1", "5"), ("1", "10"), ("+Inf", "10")]);
    assert_eq!(number(&db, 0, "histogram_quantile(0.1, h_bucket)"), -1.0);
    assert_eq!(number(&db, 0, "histogram_quantile(0.75, h_bucket)"), 0.0);
}

#[test]
fn quantile_without_infinite_bucket_or_observations_is_nan() {
    for counts in [
        &[("1", "1"), ("2", "2")][..],
        &[("1", "0"), ("+Inf", "0")],
        &[("+Inf", "5")],
    ] {
        assert!(number(&histogram(counts), 0, "histogram_quantile(0.5, h_bucket)").is_nan());
    }
}

#[test]
fn falling_bucket_counts_are_raised() {
    let db = histogram(&[("1", "10"), ("2", "8"), ("3", "20"), ("+Inf", "20")]);
    assert_near(&db, 0, "histogram_quantile(0.75, h_bucket)", 2.5);
}

#[test]
fn histograms_are_grouped_by_other_labels() {
    let db = load(
        60,
        &[
            "h_bucket{job=\"a\",le=\"1\"} 10",
            "h_bucket{job=\"a\",le=\"+Inf\"} 10",
            "h_bucket{job=\"b\",le=\"2\"} 10",
            "h_bucket{job=\"b\",le=\"+Inf\"} 10",
            "h_bucket{job=\"b\",le=\"none\"} 99",
            "h_bucket{job=\"b\",le=\"NaN\"} 99",
            "h_bucket{job=\"c\"} 99",
        ],
    );
    assert_eq!(
        query_at(&db, 0, "histogram_quantile(0.5, h_bucket)"),
        ["{job=\"a\"} 0.5", "{job=\"b\"} 1"],
    );
    // The metric name, which the result drops, also separates histograms.
    let db = load(
        60,
        &[
            "a_bucket{le=\"1\"} 10",
            "a_bucket{le=\"+Inf\"} 10",
            "b_bucket{job=\"b\",le=\"2\"} 10",
            "b_bucket{job=\"b\",le=\"+Inf\"} 10",
            "c_bucket{le=\"2\"} 10",
            "c_bucket{le=\"+Inf\"} 10",
        ],
    );
    let quantiles = |names: &str| format!("histogram_quantile(0.5, {{__name__=~\"{names}\"}})");
    assert_eq!(
        query_at(&db, 0, &quantiles("(a|b)_bucket")),
        ["{} 0.5", "{job=\"b\"} 1"],
    );
    assert!(error_at(&db, 0, &quantiles("(a|c)_bucket")).starts_with("execution: several"));
    // Equal bounds in different spellings are one bucket.
    let db = histogram(&[("1", "3"), ("1.0", "3"), ("+Inf", "6")]);
    assert_near(&db, 0, "histogram_quantile(0.5, h_bucket)", 0.5);
}

/// As in `histograms.test` of Prometheus.
#[test]
fn quantiles_are_told_apart_by_a_label() {
    let db = histogram(&[("1", "2"), ("2", "4"), ("+Inf", "4")]);
    assert_eq!(
        query_at(
            &db,
            0,
            "histogram_quantiles(h_bucket, \"q\", 0, 0.25, 1, 2, NaN)"
        ),
        [
            "{q=\"0.0\"} 0",
            "{q=\"0.25\"} 0.5",
            "{q=\"1.0\"} 2",
            "{q=\"2.0\"} inf",
            "{q=\"NaN\"} NaN"
        ]
    );
    assert!(query_at(&db, 0, "histogram_quantiles(nothing, \"q\", 0.5)").is_empty());
    let twice = error_at(&db, 0, "histogram_quantiles(h_bucket, \"q\", 0.5, 0.5)");
    assert!(twice.starts_with("execution: several"), "{twice}");
    let nameless = error_at(&db, 0, "histogram_quantiles(h_bucket, \"\", 0.5)");
    assert!(
        nameless.contains("target label of histogram_quantiles"),
        "{nameless}"
    );
}
