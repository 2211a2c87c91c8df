//! Handles with and without a recorder.

use store_meter::testing::Recording;
use store_meter::{PoolMeter, Scope, Timer};

#[tokio::test]
async fn names_have_the_prefix_and_labels_of_the_scope() {
    let (counter, recording) = Recording::of(async {
        let scope = Scope::new(true, "course", &[("backend", "sqlite")]);
        let scope = scope.with("outcome", "committed");
        scope.counter("enrollments_total", "Enrollments")
    })
    .await;
    // A handle keeps its recorder.
    counter.add(2);
    let recorded = recording.look();
    let row = ["course_enrollments_total", "counter", "backend, outcome"].map(str::to_owned);
    assert_eq!(recorded.rows(&[]), [row.into()].into());
    let committed = Some(("outcome", "committed"));
    assert_eq!(recorded.number("course_enrollments_total", committed), 2.0);
}

#[tokio::test]
async fn a_gauge_is_the_sum_of_its_shares() {
    let gauge = async { Scope::new(true, "course", &[]).gauge("lag_positions", "Lag") };
    let (gauge, recording) = Recording::of(gauge).await;
    let change = || recording.look().number("course_lag_positions", None);
    let (one, other) = (gauge.share(), gauge.one());
    one.set(|| 5);
    assert_eq!(change(), 6.0);
    one.set(|| 2);
    other.add(1_u64.wrapping_sub(2));
    assert_eq!(change(), -4.0);
    drop(one);
    assert_eq!(change(), -2.0);
}

#[tokio::test]
async fn a_scope_that_is_not_enabled_records_nothing() {
    let ((), recording) = Recording::of(async {
        let meter = PoolMeter::new(&Scope::new(false, "course", &[]));
        drop((meter.opened(), meter.borrowed(Timer::start())));
        meter.lost();
    })
    .await;
    assert!(recording.look().rows(&[]).is_empty());
}
