//! `Retention::bytes` covers everything that series and metadata take, and `Limits::new_series`
//! slows the series down that would push others out.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use tsdb::{
    Batch, Db, DbOptions, Error, Labels, Limits, METRIC_NAME, Matcher, Metadata, NewSeriesLimit,
    Retention, Sample, Stats,
};

fn db_of(bytes: usize) -> Db {
    Db::new(DbOptions {
        retention: Retention {
            bytes: Some(bytes),
            ..Retention::default()
        },
        ..DbOptions::default()
    })
}

fn pod(metric: &str, pod: usize) -> Labels {
    let labels = [
        ("pod", format!("pod-{pod}")),
        ("job", (pod % 7).to_string()),
    ];
    Labels::new(metric, labels).expect("the labels are valid")
}

fn help(text: &str) -> Metadata {
    Metadata {
        help: text.to_owned(),
        ..Metadata::default()
    }
}

/// The budget once covered only the samples, and the index grew to twice their size beside it.
#[test]
fn budget_covers_samples_index_and_metadata() {
    let limit = 3_000_000;
    let db = db_of(limit);
    let mut fullest = 0;
    for round in 0..40 {
        let metric = format!("requests_{round}");
        db.set_metadata(&metric, help(&"h".repeat(2_000)))
            .expect("there is no limit");
        let mut batch = Batch::new();
        for number in 0..500 {
            batch.push(
                &pod(&metric, round * 500 + number),
                Sample::new(round as i64, 1.0),
            );
        }
        assert_eq!(db.write(&mut batch).written, 500);
        let used = db.stats().total_bytes();
        assert!(used <= limit, "{used} bytes in round {round}");
        fullest = fullest.max(used);
        assert!(
            fullest < limit * 7 / 8 || used > limit * 3 / 4,
            "{used} bytes are left"
        );
    }
    assert!(fullest > limit * 7 / 8);

    let series = db.list_series(&[]);
    assert_eq!(series.len(), db.series_count());
    let values = |name| db.label_values(name, &[]).into_iter().collect();
    let left: BTreeSet<String> = series
        .iter()
        .map(|labels| labels.metric().to_owned())
        .collect();
    assert!(left.len() < 40 && left.contains("requests_39"));
    assert_eq!(left, values(METRIC_NAME));
    assert_eq!(series.len(), values("pod").len());
    let described: BTreeSet<String> = db.all_metadata().into_keys().collect();
    assert_eq!(left, described, "metadata goes with the last series");
}

/// The sizes of postings depend on the number of series and on their range.
#[test]
fn removed_series_give_all_bytes_back() {
    let db = Db::new(DbOptions::default());
    let mut random = StdRng::seed_from_u64(1);
    let mut pods: Vec<usize> = (0..70_000).collect();
    for pods in pods.chunks(10_000) {
        let mut batch = Batch::new();
        for number in pods {
            batch.push(&pod("m", *number), Sample::new(0, random.random()));
        }
        assert_eq!(db.write(&mut batch).written, pods.len());
    }
    let full = db.stats();
    pods.shuffle(&mut random);
    for (left, number) in (0..pods.len()).rev().zip(&pods) {
        let matcher = Matcher::equal("pod", format!("pod-{number}"));
        db.delete(&[matcher], i64::MIN, i64::MAX)
            .expect("it is deleted");
        let stats = db.stats();
        // What many series share may stay until the end.
        let shared = 150_000;
        assert!(stats.index_bytes <= full.index_bytes / 70_000 * left + shared);
    }
    assert_eq!(db.stats(), Stats::default());
}

/// A histogram's series have longer names than its metadata.
#[test]
fn metadata_of_metrics_with_series_stays() {
    let limit = 1_000_000;
    let db = db_of(limit);
    for (metric, described) in [("old_bucket", "old"), ("new_bucket", "new"), ("up", "up")] {
        let time = i64::from(metric != "old_bucket");
        db.set_metadata(described, help("text")).expect("accepted");
        db.append(&pod(metric, 0), Sample::new(1000 * time, 1.0))
            .expect("accepted");
    }
    db.set_metadata("u", help("text")).expect("accepted");
    assert_eq!(
        db.all_metadata().len(),
        4,
        "there is room for metadata without series"
    );
    for number in 0..2_000 {
        db.append(&pod("other", number), Sample::new(100, 1.0))
            .expect("accepted");
    }
    let left: Vec<String> = db.all_metadata().into_keys().collect();
    assert_eq!(left, ["new", "up"]);
}

/// Help texts can't push the samples out.
#[test]
fn metadata_takes_at_most_a_quarter_of_the_budget() {
    let limit = 800_000;
    let db = db_of(limit);
    for number in 0..400 {
        let metric = format!("metric_{number}");
        db.append(&pod(&metric, number), Sample::new(0, 1.0))
            .expect("accepted");
    }
    for number in 0..400 {
        let length = if number == 7 { 10_000 } else { 1_000 + number };
        db.set_metadata(&format!("metric_{number}"), help(&"h".repeat(length)))
            .expect("accepted");
        assert!(db.stats().total_bytes() <= limit);
    }
    assert_eq!(db.series_count(), 400);
    let longest = db.metadata("metric_7");
    assert!(longest.is_none(), "the longest goes first");
    assert!(db.metadata("metric_0").is_some());

    let huge = help(&"h".repeat(2 * limit));
    db.set_metadata("metric_1", huge).expect("accepted");
    assert!(db.metadata("metric_1").is_none());
    assert_eq!(db.series_count(), 400);
}

#[test]
fn new_series_beyond_the_limit_of_an_interval_are_refused() {
    let interval = Duration::from_millis(400);
    let db = Db::new(DbOptions {
        limits: Limits {
            new_series: Some(NewSeriesLimit { max: 2, interval }),
            ..Limits::default()
        },
        ..DbOptions::default()
    });
    let mut batch = Batch::new();
    for number in 0..3 {
        batch.push(&pod("m", number), Sample::new(0, 1.0));
    }
    let report = db.write(&mut batch);
    assert_eq!((report.written, report.refused.len()), (2, 1));
    assert_eq!(report.refused[0].index, 2);
    let error = &report.refused[0].error;
    assert_eq!(
        error.to_string(),
        "the limit of 2 new series in 400ms is reached"
    );
    assert!(error.is_transient());
    let Error::TooManyNewSeries { retry_after, .. } = *error else {
        panic!("{error}");
    };
    assert!(retry_after <= interval);

    // Series that exist are not new, and what is refused is not in the index.
    db.append(&pod("m", 0), Sample::new(1, 1.0))
        .expect("accepted");
    assert_eq!(db.series_count(), 2);
    assert_eq!(db.label_values("pod", &[]), ["pod-0", "pod-1"]);

    sleep(retry_after);
    db.append(&pod("m", 2), Sample::new(0, 1.0))
        .expect("accepted");
    assert_eq!(db.series_count(), 3);
}
