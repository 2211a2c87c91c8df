use crate::support::promql::{at, load, number, over};

#[test]
fn a_subquery_evaluates_at_multiples_of_its_step() {
    let db = load(10, &["g 0+1x60"]);
    // At 305 s, after 245 and up to 305: steps 260, 280, 300.
    assert_eq!(at(&db, 305, "(g)[1m:20s]"), ["g 260:26 280:28 300:30"]);
    assert_eq!(number(&db, 305, "sum_over_time(g[1m:20s])"), 84.0);
    // The left end itself is outside.
    assert_eq!(at(&db, 300, "g[1m:20s]"), ["g 260:26 280:28 300:30"]);
}

#[test]
fn a_subquery_without_a_step_takes_that_of_the_options() {
    let db = load(10, &["g 0+1x60"]);
    assert_eq!(at(&db, 300, "g[2m:]"), ["g 240:24 300:30"]);
}

#[test]
fn subqueries_nest_and_move() {
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
fn a_subquery_has_no_sample_where_its_expression_has_none() {
    let db = load(60, &["g 1 2 3 4 5"]);
    assert_eq!(at(&db, 240, "(g > 3)[5m:1m]"), ["g 180:4 240:5"]);
    assert!(at(&db, 240, "sum_over_time((g > 9)[5m:1m])").is_empty());
}

#[test]
fn a_subquery_before_1970_has_the_same_steps() {
    let db = load(10, &["g 1"]);
    assert_eq!(at(&db, -5, "vector(1)[30s:10s]"), ["{} -30:1 -20:1 -10:1"]);
}
