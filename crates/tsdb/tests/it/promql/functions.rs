use crate::support::promql::{assert_near, error_at, load, number, over, query_at};

#[test]
fn over_time_functions_compute_values() {
    let db = load(60, &["g 1 5 3 2 4"]);
    for (query, expected) in [
        ("avg_over_time(g[5m])", 3.0),
        ("sum_over_time(g[5m])", 15.0),
        ("min_over_time(g[5m])", 1.0),
        ("max_over_time(g[5m])", 5.0),
        ("count_over_time(g[5m])", 5.0),
        ("stdvar_over_time(g[5m])", 2.0),
        ("stddev_over_time(g[5m])", 2.0_f64.sqrt()),
        ("quantile_over_time(0.5, g[5m])", 3.0),
        ("quantile_over_time(0.25, g[5m])", 2.0),
        ("present_over_time(g[5m])", 1.0),
        // The distances from the median 3 are 2 2 0 1 1.
        ("mad_over_time(g[5m])", 1.0),
        ("ts_of_min_over_time(g[5m])", 0.0),
        ("ts_of_max_over_time(g[5m])", 60.0),
        ("ts_of_first_over_time(g[4m])", 60.0),
        ("ts_of_last_over_time(g[5m] offset 30s)", 180.0),
    ] {
        assert_near(&db, 240, query, expected);
    }
    assert_eq!(query_at(&db, 240, "last_over_time(g[5m])"), ["g 4"]);
    assert_eq!(query_at(&db, 240, "first_over_time(g[5m])"), ["g 1"]);
    assert!(query_at(&db, 240, "sum_over_time(nothing[5m])").is_empty());
    // A NaN leaves no median.
    let db = load(60, &["n 1 NaN 3"]);
    assert!(number(&db, 120, "mad_over_time(n[5m])").is_nan());
}

#[test]
fn time_of_extreme_is_that_of_last_sample_that_has_it() {
    let db = load(60, &["g 2 1 3 1 3 2", "n NaN 5 NaN", "all NaN NaN"]);
    assert_eq!(number(&db, 300, "ts_of_min_over_time(g[10m])"), 180.0);
    assert_eq!(number(&db, 300, "ts_of_max_over_time(g[10m])"), 240.0);
    // NaN counts only if there is no number.
    assert_eq!(number(&db, 300, "ts_of_min_over_time(n[10m])"), 60.0);
    assert_eq!(number(&db, 300, "ts_of_max_over_time(n[10m])"), 60.0);
    assert_eq!(number(&db, 300, "ts_of_max_over_time(all[10m])"), 60.0);
    assert_eq!(
        over(&db, 60, 120, 60, "ts_of_max_over_time(g[1m])"),
        ["{} 60:60 120:120"]
    );
}

#[test]
fn double_exponential_smoothing_follows_values_and_trend() {
    let db = load(60, &["line 1+2x9", "g 1 3 2", "one 7"]);
    let smooth = |query: &str| format!("double_exponential_smoothing({query})");
    // A line is its own trend, so the factors change nothing.
    assert_near(&db, 540, &smooth("line[10m], 0.3, 0.7"), 19.0);
    // The second value is 0.5 * 3 + 0.5 * (1 + 2) = 3, with the trend 0.5 * 2 + 0.5 * 2 = 2.
    assert_near(&db, 120, &smooth("g[5m], 0.5, 0.5"), 0.5 * 2.0 + 0.5 * 5.0);
    assert!(query_at(&db, 120, &smooth("one[5m], 0.5, 0.5")).is_empty());
    for (factors, named) in [
        ("0, 0.5", "the smoothing factor"),
        ("1, 0.5", "the smoothing factor"),
        ("0.5, 1.1", "the trend factor"),
        ("0.5, time()", "the trend factor"),
    ] {
        let error = error_at(&db, 120, &smooth(&format!("g[5m], {factors}")));
        assert!(error.contains(named), "{factors}: {error}");
    }
}

#[test]
fn times_of_query_are_scalars() {
    let db = load(60, &["g 0+1x20"]);
    let times = "start() + end() * 10 + step() * 100 + range() * 1000";
    assert_eq!(number(&db, 90, times), 990.0);
    for (query, expected) in [
        ("start()", "{} 60:60 90:60"),
        ("end()", "{} 60:90 90:90"),
        ("step()", "{} 60:30 90:30"),
        ("range()", "{} 60:30 90:30"),
    ] {
        assert_eq!(over(&db, 60, 90, 30, query), [expected]);
    }
    // Inside a sub-query too, they are those of the whole query.
    assert_eq!(
        over(&db, 120, 180, 60, "max_over_time(vector(end())[1m:10s])"),
        ["{} 120:180 180:180"]
    );
    assert_eq!(over(&db, 60, 120, 60, "g == start() / 60"), ["g 60:1"]);
}

#[test]
fn min_of_and_max_of_compare_scalars() {
    let db = load(60, &[]);
    assert_eq!(number(&db, 0, "min_of(2, 3)"), 2.0);
    assert_eq!(number(&db, 0, "max_of(2, 3)"), 3.0);
    assert!(number(&db, 0, "max_of(2, NaN)").is_nan());
    assert!(number(&db, 0, "min_of(NaN, 2)").is_nan());
    assert_eq!(
        over(&db, 0, 20, 10, "min_of(time(), 10)"),
        ["{} 0:0 10:10 20:10"]
    );
    assert!(error_at(&db, 0, "min_of(vector(1), 2)").starts_with("bad_data: "));
}

#[test]
fn elementwise_functions_compute_values() {
    let db = load(
        60,
        &[
            "v{a=\"n\"} -2.5",
            "v{a=\"p\"} 2.5",
            "z{a=\"z\"} 0",
            "n{a=\"x\"} NaN",
        ],
    );
    for (query, expected) in [
        ("abs(v)", ["{a=\"n\"} 2.5", "{a=\"p\"} 2.5"]),
        ("ceil(v)", ["{a=\"n\"} -2", "{a=\"p\"} 3"]),
        ("floor(v)", ["{a=\"n\"} -3", "{a=\"p\"} 2"]),
        ("round(v)", ["{a=\"n\"} -2", "{a=\"p\"} 3"]),
        ("round(v, 2)", ["{a=\"n\"} -2", "{a=\"p\"} 2"]),
        ("sgn(v)", ["{a=\"n\"} -1", "{a=\"p\"} 1"]),
        ("clamp(v, -1, 1)", ["{a=\"n\"} -1", "{a=\"p\"} 1"]),
        ("clamp_min(v, 0)", ["{a=\"n\"} 0", "{a=\"p\"} 2.5"]),
        ("clamp_max(v, 0)", ["{a=\"n\"} -2.5", "{a=\"p\"} 0"]),
    ] {
        assert_eq!(query_at(&db, 0, query), expected, "{query}");
    }
    assert!(query_at(&db, 0, "clamp(v, 1, -1)").is_empty());
    assert!(number(&db, 0, "clamp(n, 0, 1)").is_nan());
    assert!(number(&db, 0, "sgn(n)").is_nan());
    assert_eq!(number(&db, 0, "exp(z)"), 1.0);
    assert_eq!(number(&db, 0, "ln(z)"), f64::NEG_INFINITY);
    assert!(number(&db, 0, "sqrt(v{a=\"n\"})").is_nan());
    assert_eq!(number(&db, 0, "log2(vector(8))"), 3.0);
    assert_eq!(number(&db, 0, "deg(vector(pi()))"), 180.0);
    // The products with 180 and with pi would overflow.
    assert_near(&db, 0, "deg(vector(1e306))", 5.729_577_951_308_232e307);
    assert_near(&db, 0, "rad(vector(1e308))", 1.745_329_251_994_329_5e306);
    assert_near(&db, 0, "sin(rad(vector(90)))", 1.0);
}

#[test]
fn calendar_functions_compute_values() {
    let db = load(60, &["v 7"]);
    // 2024-02-29 12:34:56, a Thursday.
    let leap_day = 1_709_210_096;
    for (query, expected) in [
        ("year()", 2024.0),
        ("month()", 2.0),
        ("day_of_month()", 29.0),
        ("day_of_week()", 4.0),
        ("day_of_year()", 60.0),
        ("days_in_month()", 29.0),
        ("hour()", 12.0),
        ("minute()", 34.0),
        ("time()", 1_709_210_096.0),
        // A fraction is cut off, even before 1970.
        ("day_of_month(vector(-0.3))", 1.0),
        ("hour(vector(-0.3))", 0.0),
        ("minute(vector(-60.5))", 59.0),
        ("year(vector(-1.5))", 1969.0),
        // 1900-03-01: 1900 had no leap day.
        ("day_of_year(vector(-2203891200))", 60.0),
        ("year(vector(-1))", 1969.0),
        ("days_in_month(vector(951782400))", 29.0),
    ] {
        assert_eq!(number(&db, leap_day, query), expected, "{query}");
    }
    assert!(number(&db, 0, "year(vector(NaN))").is_nan());
    assert_eq!(number(&db, 45, "timestamp(v)"), 0.0);
    assert_eq!(number(&db, 45, "timestamp(v + 1)"), 45.0);
    assert_eq!(over(&db, 0, 60, 60, "timestamp(v)"), ["{} 0:0 60:0"]);
}

#[test]
fn absent_returns_labels_fixed_by_selector() {
    let db = load(60, &["up{job=\"a\"} 1"]);
    assert!(query_at(&db, 0, "absent(up)").is_empty());
    assert_eq!(query_at(&db, 0, "absent(up{job=\"b\"})"), ["{job=\"b\"} 1"]);
    assert_eq!(
        query_at(&db, 0, "absent(up{job=\"b\",x=~\"y\",z!=\"1\"})"),
        ["{job=\"b\"} 1"]
    );
    assert_eq!(
        query_at(&db, 0, "absent(up{job=\"b\",job=\"c\"})"),
        ["{} 1"]
    );
    assert_eq!(
        query_at(&db, 0, "absent(sum(nothing{job=\"b\"}))"),
        ["{} 1"]
    );
    assert_eq!(over(&db, 240, 360, 60, "absent(up)"), ["{} 300:1 360:1"]);
    assert_eq!(
        query_at(&db, 0, "absent_over_time(up{job=\"b\"}[5m])"),
        ["{job=\"b\"} 1"]
    );
    assert!(query_at(&db, 299, "absent_over_time(up[5m])").is_empty());
    assert_eq!(query_at(&db, 300, "absent_over_time(up[5m])"), ["{} 1"]);
}

#[test]
fn scalar_and_vector_convert() {
    let db = load(60, &["a{x=\"1\"} 1", "a{x=\"2\"} 2"]);
    assert_eq!(number(&db, 0, "scalar(a{x=\"2\"})"), 2.0);
    assert!(number(&db, 0, "scalar(a)").is_nan());
    assert!(number(&db, 0, "scalar(nothing)").is_nan());
    assert_eq!(query_at(&db, 0, "vector(scalar(a{x=\"1\"}) + 1)"), ["{} 2"]);
}

#[test]
fn sort_orders_instant_with_nan_last() {
    let db = load(60, &["v{a=\"1\"} 2", "v{a=\"2\"} NaN", "v{a=\"3\"} 1"]);
    assert_eq!(
        query_at(&db, 0, "sort(v)"),
        ["v{a=\"3\"} 1", "v{a=\"1\"} 2", "v{a=\"2\"} NaN"]
    );
    assert_eq!(
        query_at(&db, 0, "sort_desc(v)"),
        ["v{a=\"1\"} 2", "v{a=\"3\"} 1", "v{a=\"2\"} NaN"]
    );
}

#[test]
fn unsupported_part_is_named() {
    let db = load(60, &["v 1"]);
    assert_eq!(
        error_at(&db, 0, "{a=\"b\" or c=\"d\"}"),
        "bad_data: `or` between matchers is not supported"
    );
}

/// By Prometheus' `functions.test`.
#[test]
fn integral_adds_rectangles_or_trapezoids() {
    let db = load(10, &["v 1 3 NaN 5", "one 7"]);
    for (query, expected) in [
        ("integral(v[1m])", 10.0 * (2.0 + 1.5 + 2.5)),
        ("integral(v[1m], 0)", 10.0 * (1.0 + 3.0)),
        ("integral(v[1m], 1)", 10.0 * (3.0 + 5.0)),
        ("integral(v[1m], 2)", 60.0),
        ("integral(v[1m], 9)", 60.0),
        ("integral(one[1m])", 0.0),
    ] {
        assert_near(&db, 30, query, expected);
    }
    // The sum of two neighbours can overflow where their mean does not.
    let db = load(1, &["v 1e308 1e308"]);
    assert_near(&db, 1, "integral(v[1m])", 1e308);
}

#[test]
fn no_sample_has_a_start_timestamp() {
    let db = load(10, &["v 1"]);
    assert!(query_at(&db, 0, "start_timestamp(v)").is_empty());
}
