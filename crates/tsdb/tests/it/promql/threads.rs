//! A query has the same answer on any number of threads.

use tsdb::promql::{Query, QueryOptions, TimeRange, to_json};
use tsdb::{Db, DbOptions, Labels, STALE_MARKER, Sample};

/// So many windows that each thread has enough to do.
const RANGE: TimeRange = TimeRange {
    start_ms: 0,
    end_ms: 1_000_000,
    step_ms: 1_000,
};
const SERIES: usize = 60;

/// Counters with resets and gaps: a few series end, and one never has two samples in a range.
fn db() -> Db {
    let db = Db::new(DbOptions::default());
    for number in 0..SERIES {
        let labels = [
            ("le", ["0.1", "1", "+Inf"][number % 3].to_owned()),
            ("host", format!("host-{}", number / 3)),
        ];
        let mut series = db
            .series(&Labels::new("c", labels).expect("labels"))
            .expect("a handle");
        let step_s = if number == 7 { 400 } else { 5 + number % 4 };
        let samples = (0..1_000).step_by(step_s).map(|second| {
            let count = second * (number % 3 + 1) % (300 + number);
            let value = match second {
                600.. if number % 10 == 0 => STALE_MARKER,
                300..400 if number % 11 == 0 => f64::NAN,
                _ => count as f64 / 3.0,
            };
            Sample::new(second as i64 * 1000, value)
        });
        series
            .append_batch(&samples.collect::<Vec<_>>())
            .expect("samples");
    }
    db
}

fn answer(db: &Db, query: &str, options: &QueryOptions) -> String {
    let query = Query::parse(query).expect("a query");
    to_json(&query.range(db, RANGE, options))
}

fn on(threads: usize) -> QueryOptions {
    QueryOptions {
        threads,
        ..QueryOptions::default()
    }
}

#[test]
fn answer_does_not_depend_on_threads() {
    let db = db();
    for query in [
        "rate(c[1m])",
        "sum by (host) (rate(c[5m]))",
        "sum(avg_over_time(c[100s]))",
        "histogram_quantile(0.9, sum by (le) (rate(c[5m])))",
        "topk(3, increase(c[2m]))",
        "quantile_over_time(0.5, c[1m])",
        "last_over_time(c[1m] offset 30s)",
        "max_over_time(c[1m] @ end())",
        "sum_over_time(rate(c[1m])[5m:10s])",
        "rate(nothing[5m])",
    ] {
        let alone = answer(&db, query, &on(1));
        assert!(alone.starts_with(r#"{"status":"success""#), "{alone}");
        for threads in [0, 2, 3, 7, 1_000] {
            let together = answer(&db, query, &on(threads));
            assert_eq!(together, alone, "{query} on {threads} threads");
        }
    }
}

#[test]
fn samples_are_counted_over_all_threads() {
    let db = db();
    let query = Query::parse("rate(c[5m])").expect("a query");
    let counted = |threads| {
        let answer = query.range_with_stats(&db, RANGE, &on(threads));
        answer.expect("an answer").1
    };
    assert_eq!(counted(1), counted(4));
    let held = counted(1).samples_held;
    for threads in [1, 4] {
        let limited = |max_samples| QueryOptions {
            max_samples,
            ..on(threads)
        };
        let enough = answer(&db, "rate(c[5m])", &limited(held));
        assert!(enough.starts_with(r#"{"status":"success""#), "{enough}");
        let refused = answer(&db, "rate(c[5m])", &limited(held - 1));
        assert!(refused.contains("execution"), "{refused}");
    }
}
