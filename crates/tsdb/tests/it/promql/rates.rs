use crate::support::promql::{assert_near, load, number, query_at};

#[test]
fn rate_extrapolates_to_range_ends_near_samples() {
    // The range (0, 300] has samples at 60, 120, 180, 240 and 300: 40 in 240 s. The factor extends
    // to the start, because the first sample is within 1.1 intervals of it.
    let db = load(60, &["c 100+10x10"]);
    assert_near(&db, 300, "increase(c[5m])", 50.0);
    assert_near(&db, 300, "rate(c[5m])", 50.0 / 300.0);
    assert_near(&db, 300, "delta(c[5m])", 50.0);
}

#[test]
fn counter_is_not_extrapolated_below_zero() {
    // From 5 at 60 s to 25 at 300 s: with this slope the counter was zero at the start of the
    // range.
    let db = load(60, &["c _ 5+5x4"]);
    assert_near(&db, 300, "increase(c[5m])", 25.0);
    // 1 at 60 s, 41 at 300 s: the counter was zero 6 s before the first sample.
    let db = load(60, &["c _ 1+10x4"]);
    assert_near(&db, 300, "increase(c[5m])", 41.0);
    assert_near(&db, 300, "delta(c[5m])", 50.0);
}

#[test]
fn rate_extrapolates_half_interval_beyond_early_end() {
    // Samples only at 60 and 120: the range ends 180 s later, which is more than 1.1 intervals.
    let db = load(60, &["c _ 100 110"]);
    assert_near(
        &db,
        300,
        "increase(c[5m])",
        10.0 * (60.0 + 60.0 + 30.0) / 60.0,
    );
}

#[test]
fn falling_counter_is_reset() {
    // 10 -> 20, reset, 5 -> 15: 10 + 5 + 10 in 180 s.
    let db = load(60, &["c _ 10 20 5 15"]);
    assert_near(&db, 240, "increase(c[4m])", 25.0 * (180.0 + 60.0) / 180.0);
    assert_eq!(number(&db, 240, "resets(c[4m])"), 1.0);
    assert_eq!(number(&db, 240, "changes(c[4m])"), 3.0);
    assert_near(&db, 240, "delta(c[4m])", 5.0 * (180.0 + 60.0) / 180.0);
}

#[test]
fn rate_of_one_sample_is_absent() {
    let db = load(60, &["c 1 _ _ _ _ 6"]);
    for query in [
        "rate(c[1m])",
        "increase(c[1m])",
        "irate(c[1m])",
        "idelta(c[1m])",
        "deriv(c[1m])",
    ] {
        assert!(query_at(&db, 300, query).is_empty(), "{query}");
    }
    assert_eq!(query_at(&db, 300, "resets(c[1m])"), ["{} 0"]);
    assert_eq!(query_at(&db, 300, "changes(c[1m])"), ["{} 0"]);
}

#[test]
fn irate_and_idelta_use_last_two_samples() {
    let db = load(60, &["c 0 100 130", "r 50 100 40"]);
    assert_eq!(number(&db, 120, "irate(c[5m])"), 0.5);
    assert_eq!(number(&db, 120, "idelta(c[5m])"), 30.0);
    // After a reset, the last value is the increase.
    assert_near(&db, 120, "irate(r[5m])", 40.0 / 60.0);
    assert_eq!(number(&db, 120, "idelta(r[5m])"), -60.0);
}

#[test]
fn deriv_and_predict_linear_fit_line() {
    let db = load(10, &["g 5+3x30", "flat 7+0x30", "big Inf Inf Inf"]);
    assert_near(&db, 300, "deriv(g[2m])", 0.3);
    // 95 at 300 s, 0.3 a second.
    assert_near(&db, 300, "predict_linear(g[2m], 60)", 95.0 + 18.0);
    assert_near(&db, 300, "predict_linear(g[2m] offset 1m, 60)", 95.0 + 18.0);
    assert_eq!(number(&db, 300, "deriv(flat[2m])"), 0.0);
    assert!(number(&db, 20, "deriv(big[2m])").is_nan());
}

#[test]
fn nan_in_range_is_value() {
    let db = load(60, &["c 1 NaN NaN 2"]);
    assert_eq!(number(&db, 180, "changes(c[4m])"), 2.0);
    assert_eq!(number(&db, 180, "resets(c[4m])"), 0.0);
    assert!(number(&db, 180, "sum_over_time(c[4m])").is_nan());
    assert_eq!(number(&db, 180, "min_over_time(c[4m])"), 1.0);
    assert_eq!(number(&db, 180, "max_over_time(c[4m])"), 2.0);
    assert_eq!(number(&db, 180, "count_over_time(c[4m])"), 4.0);
}
