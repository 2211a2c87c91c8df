//! Single calls: duplicate policies, batches, selection, deletion.

use tsdb::{
    Batch, Db, DbOptions, DuplicatePolicy, Error, Labels, MatchOp, Matcher, Metadata, MetricKind,
    Sample,
};

fn cpu(host: &str) -> Labels {
    Labels::new("cpu_usage", [("host", host), ("job", "node")]).unwrap()
}

fn all(db: &Db, matchers: &[Matcher]) -> Vec<Sample> {
    let mut samples = Vec::new();
    for series in db.select(matchers, i64::MIN, i64::MAX).iter() {
        series.collect_into(&mut samples);
    }
    samples
}

fn db_with(duplicates: DuplicatePolicy) -> Db {
    Db::new(DbOptions {
        duplicates,
        ..DbOptions::default()
    })
}

#[test]
fn empty_batch_creates_no_series() {
    let db = Db::new(DbOptions::default());
    db.series(&cpu("a")).unwrap().append_batch(&[]).unwrap();
    assert_eq!(db.list_series(&[]), []);
    assert_eq!(db.stats().total_bytes(), 0);
}

#[test]
fn labels_identify_series_in_any_order() {
    let db = Db::new(DbOptions::default());
    db.append(&cpu("a"), Sample::new(1, 1.0)).unwrap();
    db.append(&cpu("b"), Sample::new(1, 2.0)).unwrap();
    let swapped = Labels::new("cpu_usage", [("job", "node"), ("host", "a"), ("gone", "")]).unwrap();
    db.append(&swapped, Sample::new(2, 3.0)).unwrap();

    assert_eq!(db.series_count(), 2);
    assert_eq!(
        all(&db, &[Matcher::equal("host", "a")]),
        [Sample::new(1, 1.0), Sample::new(2, 3.0)]
    );
}

#[test]
fn handle_and_labels_write_to_same_series() {
    let db = Db::new(DbOptions::default());
    let mut series = db.series(&cpu("a")).unwrap();
    assert_eq!(
        db.series_count(),
        0,
        "a series begins with its first sample"
    );
    series.append(Sample::new(1, 1.0)).unwrap();
    db.append(&cpu("a"), Sample::new(2, 2.0)).unwrap();
    series.append_batch(&[Sample::new(3, 3.0)]).unwrap();
    assert_eq!(db.series_count(), 1);
    assert_eq!(all(&db, &[]).len(), 3);
}

#[test]
fn duplicates_follow_policy() {
    let values = |policy| {
        let db = db_with(policy);
        for (time, value) in [(10, 1.0), (20, 2.0), (10, 3.0)] {
            let _ = db.append(&cpu("a"), Sample::new(time, value));
        }
        let values = all(&db, &[]).iter().map(|s| s.value).collect::<Vec<_>>();
        // The two policies that drop one of the samples without an error count it.
        let silent = matches!(
            policy,
            DuplicatePolicy::LastWins | DuplicatePolicy::FirstWins
        );
        assert_eq!(db.stats().repeated_samples, usize::from(silent));
        values
    };
    assert_eq!(values(DuplicatePolicy::LastWins), [3.0, 2.0]);
    assert_eq!(values(DuplicatePolicy::FirstWins), [1.0, 2.0]);
    assert_eq!(values(DuplicatePolicy::KeepAll), [1.0, 3.0, 2.0]);
    assert_eq!(values(DuplicatePolicy::Reject), [1.0, 2.0]);

    let db = db_with(DuplicatePolicy::Reject);
    let mut series = db.series(&cpu("a")).unwrap();
    series.append(Sample::new(10, 1.0)).unwrap();
    let error = series.append(Sample::new(10, 2.0)).unwrap_err();
    assert!(matches!(
        error,
        Error::DuplicateTimestamp { timestamp_ms: 10 }
    ));
}

#[test]
fn sample_before_out_of_order_window_is_refused() {
    let db = Db::new(DbOptions {
        out_of_order_window_ms: Some(100),
        ..DbOptions::default()
    });
    let mut series = db.series(&cpu("a")).unwrap();
    series.append(Sample::new(1000, 1.0)).unwrap();
    series.append(Sample::new(900, 2.0)).unwrap();
    let error = series.append(Sample::new(899, 3.0)).unwrap_err();
    let Error::OutOfOrder { oldest_ms, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(oldest_ms, 900);
    assert_eq!(all(&db, &[]).len(), 2);
}

#[test]
fn batch_is_all_or_nothing_per_series() {
    let db = db_with(DuplicatePolicy::Reject);
    let mut batch = Batch::new();
    for (host, time) in [("a", 1), ("b", 1), ("a", 2), ("a", 1), ("b", 2)] {
        batch.push(&cpu(host), Sample::new(time, 0.0));
    }
    let report = db.write(&mut batch);
    assert_eq!(report.written, 2);
    let mut refused: Vec<_> = report
        .refused
        .iter()
        .map(|refused| (refused.index, matches!(refused.error, Error::Withheld)))
        .collect();
    refused.sort_unstable();
    assert_eq!(refused, [(0, true), (2, true), (3, false)]);
    assert!(batch.is_empty());
    assert_eq!(db.list_series(&[]), [cpu("b")]);
}

/// A batch remembers its series. It must not mix up the series of two databases.
#[test]
fn batch_can_be_reused_across_databases() {
    let mut batch = Batch::new();
    let samples = |db: &Db, host| all(db, &[Matcher::equal("host", host)]).len();
    let (one, other) = (Db::new(DbOptions::default()), Db::new(DbOptions::default()));
    for (db, hosts) in [
        (&one, ["a", "b", "c"]),
        (&one, ["a", "b", "c"]),
        (&other, ["b", "a", "c"]),
        (&one, ["c", "d", "c"]),
        (&other, ["a", "a", "a"]),
    ] {
        for (time, host) in (0..).zip(hosts) {
            let newest = samples(db, host) as i64;
            batch.push(&cpu(host), Sample::new(10 * newest + time, 1.0));
        }
        assert_eq!(db.write(&mut batch).written, 3);
    }
    assert_eq!(
        ["a", "b", "c", "d"].map(|host| samples(&one, host)),
        [2, 2, 4, 1]
    );
    assert_eq!(
        ["a", "b", "c", "d"].map(|host| samples(&other, host)),
        [4, 1, 1, 0]
    );

    one.delete(&[], i64::MIN, i64::MAX).unwrap();
    batch.push(&cpu("a"), Sample::new(0, 1.0));
    assert_eq!(one.write(&mut batch).written, 1);
    assert_eq!(samples(&one, "a"), 1);
}

#[test]
fn matchers_select_by_value_and_by_pattern() {
    let db = Db::new(DbOptions::default());
    for host in ["web-1", "web-2", "db-1"] {
        db.append(&cpu(host), Sample::new(1, 1.0)).unwrap();
    }
    let hosts = |op, value: &str| {
        let matcher = Matcher::new("host", op, value).unwrap();
        db.label_values("host", &[Matcher::metric("cpu_usage"), matcher])
    };
    assert_eq!(hosts(MatchOp::Equal, "web-1"), ["web-1"]);
    assert_eq!(hosts(MatchOp::NotEqual, "web-1"), ["db-1", "web-2"]);
    assert_eq!(hosts(MatchOp::Matches, "web-.*"), ["web-1", "web-2"]);
    assert_eq!(hosts(MatchOp::NotMatches, "web-.*|x"), ["db-1"]);
    assert_eq!(hosts(MatchOp::Matches, "eb"), Vec::<String>::new());
    assert!(Matcher::new("host", MatchOp::Matches, "(").is_err());
    let absent = Matcher::equal("rack", "");
    assert_eq!(db.list_series(&[absent]).len(), 3);
}

#[test]
fn series_without_samples_is_removed() {
    let db = Db::new(DbOptions::default());
    let mut series = db.series(&cpu("a")).unwrap();
    for time in 0..10 {
        series.append(Sample::new(time, 1.0)).unwrap();
    }
    let deleted = db.delete(&[Matcher::equal("host", "a")], 0, 4).unwrap();
    assert_eq!((deleted.samples, deleted.series), (5, 0));
    let deleted = db.delete(&[], i64::MIN, i64::MAX).unwrap();
    assert_eq!((deleted.samples, deleted.series), (5, 1));
    assert_eq!(db.series_count(), 0);
    assert_eq!(db.label_names(&[]), Vec::<String>::new());

    series.append(Sample::new(1, 2.0)).unwrap();
    assert_eq!(all(&db, &[]), [Sample::new(1, 2.0)]);
}

#[test]
fn metadata_returns_last_set_value() {
    let db = Db::new(DbOptions::default());
    let metadata = Metadata {
        kind: MetricKind::Counter,
        help: "requests".into(),
    };
    db.set_metadata("http_requests_total", metadata.clone())
        .unwrap();
    assert_eq!(db.metadata("http_requests_total"), Some(metadata));
    assert_eq!(db.metadata("other"), None);
}
