//! What `cardinality` and `extent` report.

use tsdb::{Db, DbOptions, Extent, Labels, METRIC_NAME, Matcher, Sample};

fn labels(metric: &str, host: usize) -> Labels {
    Labels::new(metric, [("host", host.to_string().as_str())]).expect("the labels are valid")
}

fn filled() -> Db {
    let db = Db::new(DbOptions::default());
    for (metric, hosts) in [("few", 0..2), ("many", 0..5), ("more", 2..6)] {
        for host in hosts {
            db.append(&labels(metric, host), Sample::new(1000, 1.0))
                .expect("the sample is accepted");
        }
    }
    db
}

fn entry(name: &str, number: u64) -> (String, u64) {
    (name.to_owned(), number)
}

#[test]
fn lists_are_in_descending_order_and_limited() {
    let db = filled();
    let cardinality = db.cardinality(2);
    assert_eq!(cardinality.label_pairs, 3 + 6);
    assert_eq!(
        cardinality.series_by_metric,
        [entry("many", 5), entry("more", 4)]
    );
    assert_eq!(
        cardinality.values_by_label,
        [entry("host", 6), entry(METRIC_NAME, 3)]
    );
    let (names, hosts) = (2 * 3 + 9 * 4 + 11 * 8, 11 * 5);
    assert_eq!(
        cardinality.bytes_by_label,
        [entry(METRIC_NAME, names), entry("host", hosts)]
    );
    let pairs = [entry("__name__=many", 5), entry("__name__=more", 4)];
    assert_eq!(cardinality.series_by_pair, pairs);
    assert_eq!(db.cardinality(0).series_by_pair, []);
    assert_eq!(db.cardinality(100).series_by_pair.len(), 9);
}

#[test]
fn ended_series_are_not_counted() {
    let db = filled();
    db.delete(&[Matcher::metric("many")], i64::MIN, i64::MAX)
        .expect("the series is deleted");
    let cardinality = db.cardinality(10);
    assert_eq!(
        cardinality.series_by_metric,
        [entry("more", 4), entry("few", 2)]
    );
}

#[test]
fn extent_covers_blocks_heads_and_late_samples() {
    let db = Db::new(DbOptions::default());
    assert_eq!(db.extent(), Extent::default());
    let load = labels("load", 1);
    for second in 10..5000 {
        db.append(&load, Sample::new(second * 1000, 0.5))
            .expect("the sample is accepted");
    }
    let extent = db.extent();
    assert_eq!(extent.range_ms, Some((10_000, 4_999_000)));
    // Two full blocks, the open one and the head.
    assert_eq!(extent.parts, 4);
    db.append(&load, Sample::new(1000, 0.5))
        .expect("the sample is accepted");
    assert_eq!(db.extent().range_ms, Some((1000, 4_999_000)));
}
