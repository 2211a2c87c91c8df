use crate::support::promql::{load, number, over, query_at};

#[test]
fn subquery_evaluates_at_multiples_of_step() {
    let db = load(10, &["g 0+1x60"]);
    // At 305 s the range is (245, 305], with the steps 260, 280 and 300.
    assert_eq!(
        query_at(&db, 305, "(g)[1m:20s]"),
        ["g 260:26 280:28 300:30"]
    );
    assert_eq!(number(&db, 305, "sum_over_time(g[1m:20s])"), 84.0);
    // The left end is excluded.
    assert_eq!(query_at(&db, 300, "g[1m:20s]"), ["g 260:26 280:28 300:30"]);
}

#[test]
fn subquery_without_step_uses_default() {
    let db = load(10, &["g 0+1x60"]);
    assert_eq!(query_at(&db, 300, "g[2m:]"), ["g 240:24 300:30"]);
}

#[test]
fn subqueries_nest_and_take_offsets() {
    let db = load(10, &["c 0+10x60"]);
    assert_eq!(number(&db, 600, "max_over_time(rate(c[1m])[5m:1m])"), 1.0);
    assert_eq!(number(&db, 600, "max_over_time(c[2m:1m] offset 1m)"), 540.0);
    assert_eq!(number(&db, 600, "max_over_time(c[2m:1m] @ 120)"), 120.0);
    assert_eq!(
        over(&db, 540, 600, 60, "max_over_time(c[2m:1m])"),
        ["{} 540:540 600:600"]
    );
    assert_eq!(
        number(&db, 600, "sum_over_time(max_over_time(c[1m:10s])[2m:1m])"),
        1140.0
    );
}

#[test]
fn subquery_omits_steps_without_value() {
    let db = load(60, &["g 1 2 3 4 5"]);
    assert_eq!(query_at(&db, 240, "(g > 3)[5m:1m]"), ["g 180:4 240:5"]);
    assert!(query_at(&db, 240, "sum_over_time((g > 9)[5m:1m])").is_empty());
}

#[test]
fn subquery_before_1970_aligns_to_step() {
    let db = load(10, &["g 1"]);
    assert_eq!(
        query_at(&db, -5, "vector(1)[30s:10s]"),
        ["{} -30:1 -20:1 -10:1"]
    );
}
