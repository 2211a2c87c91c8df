//! Counters and histograms to embed.

use std::time::Duration;

use tsdb::{
    Db, DbOptions, Error, Histogram, LabelError, Labels, Matcher, MetricKind, OpenOptions,
    Registry, Sample,
};

const NONE: [(&str, &str); 0] = [];

/// The samples of the series with this text.
fn samples(db: &Db, labels: &str) -> Vec<Sample> {
    let metric = labels.split('{').next().unwrap();
    let found = db.select(&[Matcher::equal("__name__", metric)], i64::MIN, i64::MAX);
    let mut samples = Vec::new();
    for series in found.iter() {
        if series.labels().to_string() == labels {
            series.collect_into(&mut samples);
        }
    }
    samples
}

/// As samples, the second request of a millisecond would replace the first.
#[test]
fn observations_of_one_millisecond_all_count() {
    let (db, registry) = (Db::new(DbOptions::default()), Registry::new());
    let requests = registry
        .counter("requests_total", NONE, "Requests")
        .unwrap();
    let took = registry.histogram("request_seconds", NONE, "Time", &Histogram::SECONDS);
    let took = took.unwrap();
    for at in [1_000, 2_000] {
        for _ in 0..3 {
            requests.add(1);
            took.observe_duration(Duration::from_millis(3));
        }
        registry.record(&db, at).unwrap();
    }
    let expected = [Sample::new(1_000, 3.0), Sample::new(2_000, 6.0)];
    assert_eq!(samples(&db, "requests_total"), expected);
    assert_eq!(samples(&db, "request_seconds_count"), expected);
    assert_eq!(
        samples(&db, r#"request_seconds_bucket{le="0.005"}"#),
        expected
    );
    assert_eq!(
        samples(&db, r#"request_seconds_bucket{le="0.0025"}"#)[1].value,
        0.0
    );
    let sum = samples(&db, "request_seconds_sum")[1].value;
    assert!((sum - 0.018).abs() < 1e-12, "{sum}");
}

#[test]
fn bounds_are_inclusive_and_counts_cumulative() {
    let registry = Registry::new();
    let bounds = [2.0, 1.0, f64::INFINITY, 2.0, f64::NAN];
    let sizes = registry
        .histogram("size", [("kind", "a")], "Sizes", &bounds)
        .unwrap();
    for value in [-1.0, 1.0, 1.5, 2.0, 2.5, f64::INFINITY, f64::NAN] {
        sizes.observe(value);
    }
    assert_eq!((sizes.count(), sizes.sum()), (6, f64::INFINITY));
    let mut values: Vec<(String, f64)> = registry
        .values()
        .into_iter()
        .map(|(labels, value)| (labels.to_string(), value))
        .collect();
    values.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        (r#"size_bucket{kind="a",le="+Inf"}"#, 6.0),
        (r#"size_bucket{kind="a",le="1"}"#, 2.0),
        (r#"size_bucket{kind="a",le="2"}"#, 4.0),
        (r#"size_count{kind="a"}"#, 6.0),
        (r#"size_sum{kind="a"}"#, f64::INFINITY),
    ];
    assert_eq!(
        values,
        expected.map(|(labels, value)| (labels.to_owned(), value))
    );
}

#[test]
fn same_name_and_labels_are_the_same_counter() {
    let registry = Registry::new();
    let count = |registry: &Registry, room: &str| {
        let counter = registry
            .counter("booked_total", [("room", room)], "Booked")
            .unwrap();
        counter.add(1);
        counter.get()
    };
    assert_eq!(count(&registry, "1"), 1);
    assert_eq!(count(&registry, "1"), 2);
    assert_eq!(count(&registry, "2"), 1);
    let first = registry.histogram("size", NONE, "Sizes", &[1.0]).unwrap();
    first.observe(5.0);
    let again = registry.histogram("size", NONE, "Sizes", &[7.0]).unwrap();
    assert_eq!(again.count(), 1);
    let twice = registry.histogram("size", [("le", "1")], "Sizes", &[1.0]);
    assert!(
        matches!(twice, Err(Error::Label(LabelError::Duplicate { .. }))),
        "{twice:?}"
    );
}

#[test]
fn threads_lose_no_observation() {
    let registry = Registry::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let registry = registry.clone();
            scope.spawn(move || {
                let requests = registry
                    .counter("requests_total", NONE, "Requests")
                    .unwrap();
                let size = registry.histogram("size", NONE, "Sizes", &[1.0]).unwrap();
                for _ in 0..10_000 {
                    requests.add(1);
                    size.observe(0.5);
                }
            });
        }
    });
    let size = registry.histogram("size", NONE, "Sizes", &[1.0]).unwrap();
    assert_eq!((size.count(), size.sum()), (40_000, 20_000.0));
    assert_eq!(
        registry.counter("requests_total", NONE, "").unwrap().get(),
        40_000
    );
}

#[test]
fn metadata_is_written_with_the_samples() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(folder.path(), OpenOptions::default()).unwrap();
    let registry = Registry::new();
    registry.counter("booked_total", NONE, "Booked").unwrap();
    registry.histogram("size", NONE, "Sizes", &[1.0]).unwrap();
    registry.record(&db, 0).unwrap();
    for (metric, kind, help) in [
        ("booked_total", MetricKind::Counter, "Booked"),
        ("size", MetricKind::Histogram, "Sizes"),
    ] {
        let metadata = db.metadata(metric).unwrap();
        assert_eq!((metadata.kind, metadata.help.as_str()), (kind, help));
    }
}

#[test]
fn refused_series_is_reported_and_the_others_are_written() {
    let mut options = DbOptions::default();
    options.limits.labels_per_series = 2;
    let (db, registry) = (Db::new(options), Registry::new());
    let labels = [("a", "1"), ("b", "2")];
    registry.counter("refused_total", labels, "").unwrap();
    registry.counter("written_total", NONE, "").unwrap().add(1);
    let refused = registry.record(&db, 0);
    assert!(
        matches!(refused, Err(Error::TooManyLabels { .. })),
        "{refused:?}"
    );
    assert_eq!(samples(&db, "written_total"), [Sample::new(0, 1.0)]);
    let labels = Labels::new("refused_total", labels).unwrap();
    assert!(samples(&db, &labels.to_string()).is_empty());
}
