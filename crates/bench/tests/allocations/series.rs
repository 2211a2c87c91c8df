//! What the time-series engine counts, beside what it allocates.

use bench::AllocationScope;
use tsdb::{Batch, Db, DbOptions, Labels, Metadata, Retention, Sample};

/// The bytes of `Stats` and those on the heap, after `fill`.
fn counted_and_allocated(bytes: Option<usize>, fill: impl FnOnce(&Db)) -> (f64, f64) {
    let retention = Retention {
        bytes,
        ..Retention::default()
    };
    let empty = Db::new(DbOptions {
        retention,
        ..DbOptions::default()
    });
    let scope = AllocationScope::start();
    fill(&empty);
    let allocated = scope.finish();
    (
        empty.stats().total_bytes() as f64,
        allocated.live_bytes as f64,
    )
}

fn write(db: &Db, round: usize, labels: impl Fn(usize) -> Labels) {
    let mut batch = Batch::new();
    for number in 0..10_000 {
        batch.push(&labels(number), Sample::new(round as i64, number as f64));
    }
    assert_eq!(db.write(&mut batch).written, 10_000);
}

fn labels(metric: &str, labels: &[(&str, String)]) -> Labels {
    let labels = labels.iter().map(|(name, value)| (*name, value.as_str()));
    Labels::new(metric, labels).unwrap()
}

/// Counted bytes include what an allocator adds to each allocation, so they are somewhat more.
#[track_caller]
fn assert_close((counted, allocated): (f64, f64)) {
    let ratio = counted / allocated;
    assert!(
        (0.95..1.35).contains(&ratio),
        "{counted} counted, {allocated} allocated"
    );
}

#[test]
fn engine_counts_what_it_allocates() {
    let _counting = crate::counting();
    // Each series has values of its own.
    assert_close(counted_and_allocated(None, |db| {
        for round in 0..5 {
            write(db, round, |number| {
                let pod = ("pod", format!("pod-{round}-{number}"));
                let instance = ("instance", format!("10.0.{}.{round}", number % 256));
                labels(
                    "churn",
                    &[pod, instance, ("job", (number % 50).to_string())],
                )
            });
        }
    }));
    // Series share all values.
    assert_close(counted_and_allocated(None, |db| {
        write(db, 0, |number| {
            let digit = |place: usize| (number / place % 10).to_string();
            let names = ["a", "b", "c", "d"].into_iter();
            let digits: Vec<_> = names.zip([1, 10, 100, 1000].map(digit)).collect();
            labels("shared", &digits)
        });
    }));
    // Each metric has metadata and one series.
    assert_close(counted_and_allocated(None, |db| {
        write(db, 0, |number| labels(&format!("metric_{number}"), &[]));
        for number in 0..10_000 {
            let metadata = Metadata {
                help: format!("What the metric with the number {number} counts."),
                ..Metadata::default()
            };
            db.set_metadata(&format!("metric_{number}"), metadata)
                .unwrap();
        }
    }));
}

#[test]
fn evicted_series_leave_the_heap() {
    let _counting = crate::counting();
    let limit = 16 << 20;
    let (counted, allocated) = counted_and_allocated(Some(limit), |db| {
        for round in 0..20 {
            write(db, round, |number| {
                labels("churn", &[("pod", format!("pod-{round}-{number}"))])
            });
        }
    });
    assert_close((counted, allocated));
    assert!(allocated <= limit as f64);
}
