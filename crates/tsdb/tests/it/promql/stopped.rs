//! A query ends soon after its caller stops it, whichever loop it is in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tsdb::promql::{Proceed, Query, QueryError, QueryOptions, TimeRange};
use tsdb::{Db, DbOptions, Labels, Sample};

const SERIES: u64 = 300;
const STEPS: u64 = 2_000;
/// The most samples that a query reads before it asks.
const ASKS_AFTER: u64 = 1 << 18;
/// One pass over the values of all series asks at least so often.
const PASS: u64 = SERIES * STEPS / ASKS_AFTER;

/// Two histograms with many buckets, whose samples count at all times of the range.
fn db() -> Db {
    let db = Db::new(DbOptions::default());
    for number in 0..SERIES {
        let labels = [
            ("le", (number / 2).to_string()),
            ("job", format!("j{}", number % 2)),
            ("instance", number.to_string()),
        ];
        for (metric, labels) in [("m", &labels[..]), ("target_info", &labels[1..])] {
            let labels = Labels::new(metric, labels.iter().cloned()).expect("labels");
            let mut series = db.series(&labels).expect("a handle");
            series
                .append_batch(&[Sample::new(0, number as f64)])
                .expect("a sample");
        }
    }
    db
}

fn answer(
    db: &Db,
    query: &str,
    decide: impl Fn() -> bool + Send + Sync + 'static,
) -> Result<(), QueryError> {
    let options = QueryOptions {
        lookback: Duration::from_hours(24),
        proceed: Proceed::new(decide),
        ..QueryOptions::default()
    };
    let range = TimeRange {
        start_ms: 0,
        end_ms: (STEPS as i64 - 1) * 1000,
        step_ms: 1000,
    };
    Query::parse(query)?.range(db, range, &options).map(drop)
}

/// How often a query asks whether it may go on.
fn asks(db: &Db, query: &str) -> u64 {
    let asks = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&asks);
    let decide = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        true
    };
    answer(db, query, decide).expect(query);
    asks.load(Ordering::Relaxed)
}

/// Each query with its passes over all values. Many loops did not ask, so abandoned queries ran on.
#[test]
fn every_loop_asks_whether_to_go_on() {
    let db = db();
    for (passes, query) in [
        (3, "m"),
        (5, "-m"),
        (5, "abs(m)"),
        (5, "m > 1"),
        (5, "2 * m"),
        (7, "m and on(instance) m"),
        (8, "m or m"),
        (5, "m unless m"),
        (9, "m * on(instance) m"),
        (9, "m * on(instance) group_left m"),
        (3, "m and on(instance) nothing"),
        (3, "m * on(instance) nothing"),
        (2, "nothing * on(instance) m"),
        (2, "sum(m)"),
        (2, "quantile(0.5, m)"),
        (2, "sum by (job) (m)"),
        (2, "topk(3, m)"),
        (6, r#"count_values("v", m)"#),
        (2, "histogram_quantile(0.5, m)"),
        (2, "scalar(m)"),
        (2, "absent(m)"),
        (3, "sort(m)"),
        (4, r#"label_replace(m, "a", "$1", "instance", "(.*)")"#),
        (4, r#"label_join(m, "a", "-", "instance", "job")"#),
        (6, "info(m)"),
        (4, "max_over_time(m[10m:1m])"),
        (1, "absent_over_time(m[10m:1m])"),
    ] {
        let asks = asks(&db, query);
        assert!(
            asks >= passes * PASS,
            "{query} asks only {asks} times in {passes} passes"
        );
    }
}

#[test]
fn stopped_query_says_so() {
    let db = db();
    let error = answer(&db, "-m", || false).expect_err("it was stopped");
    assert!(matches!(error, QueryError::Stopped), "{error}");
    assert_eq!((error.error_type(), error.status()), ("canceled", 499));
    assert!(!error.is_transient());
}
