//! Retention deletes, and limits refuse.

use std::time::{SystemTime, UNIX_EPOCH};

use tsdb::{
    Db, DbOptions, DuplicatePolicy, Error, Labels, Limits, Matcher, Metadata, Retention, Sample,
    Stats,
};

fn labels(host: usize) -> Labels {
    Labels::new("m", [("host", host.to_string())]).unwrap()
}

fn count(db: &Db) -> usize {
    let mut samples = Vec::new();
    for series in db.select(&[], i64::MIN, i64::MAX).iter() {
        series.collect_into(&mut samples);
    }
    samples.len()
}

fn with(retention: Retention) -> Db {
    Db::new(DbOptions {
        retention,
        ..DbOptions::default()
    })
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_millis() as i64
}

#[test]
fn samples_beyond_the_age_do_not_show_are_freed_and_are_refused() {
    let hour_ms = 3_600_000;
    let db = with(Retention {
        age_ms: Some(hour_ms as u64),
        ..Retention::default()
    });
    let now = now_ms();
    let mut old = db.series(&labels(1)).unwrap();
    let error = old.append(Sample::new(now - 2 * hour_ms, 1.0)).unwrap_err();
    assert!(matches!(error, Error::BeyondRetention { .. }), "{error}");
    assert_eq!(db.series_count(), 0);

    // A thousand that have their age, or will have it when the last assertion looks.
    let margin_ms = 300;
    for place in 0..1_000 {
        let at = now - hour_ms + margin_ms + place % 2;
        old.append(Sample::new(at, 1.0)).unwrap();
    }
    db.append(&labels(2), Sample::new(now, 2.0)).unwrap();
    while now_ms() < now + margin_ms + 10 {
        std::thread::yield_now();
    }
    assert_eq!(
        count(&db),
        1,
        "they do not show, though nothing was freed yet"
    );
    let deleted = db.enforce_retention();
    assert_eq!(deleted.series, 1);
    assert_eq!(db.label_values("host", &[]), ["2"]);
}

#[test]
fn bytes_are_bounded_and_the_oldest_go_first() {
    let limit = 200_000;
    let db = with(Retention {
        bytes: Some(limit),
        ..Retention::default()
    });
    let total = 1_000_000;
    for host in 0..4 {
        let mut series = db.series(&labels(host)).unwrap();
        for start in (0..total / 4).step_by(1_000) {
            // Later hosts are newer.
            let at = |place: i64| i64::from(host as u32) * 10_000_000 + start + place;
            let value = |place: i64| ((start + place) * 7919 % 1000) as f64 / 10.0;
            let batch: Vec<Sample> = (0..1_000).map(|p| Sample::new(at(p), value(p))).collect();
            series.append_batch(&batch).unwrap();
            assert!(db.stats().sample_bytes < limit + 50_000);
        }
    }
    let left = count(&db);
    assert!(
        left > 50_000 && left < total as usize,
        "{left} samples are left"
    );
    let hosts = db.label_values("host", &[]);
    assert_eq!(hosts.last().map(String::as_str), Some("3"));
    assert!(
        !hosts.contains(&"0".to_owned()),
        "the oldest series has ended"
    );
}

/// Late samples wait in a list that is not of the head: it once grew past any bound, for a write
/// looked for room in the head only.
#[test]
fn late_samples_are_bounded_too() {
    let limit = 200_000;
    for duplicates in [DuplicatePolicy::KeepAll, DuplicatePolicy::Reject] {
        let db = Db::new(DbOptions {
            duplicates,
            retention: Retention {
                bytes: Some(limit),
                ..Retention::default()
            },
            ..DbOptions::default()
        });
        let mut series = db.series(&labels(1)).unwrap();
        for at in (0..40_000).rev() {
            series.append(Sample::new(at, (at as f64).sqrt())).unwrap();
            assert!(db.stats().sample_bytes < limit + 50_000, "{duplicates:?}");
        }
        assert!(count(&db) > 10_000);
    }
}

/// Samples that wait occupy more than they will when they are in their blocks: once all samples were
/// deleted for their sake.
#[test]
fn samples_that_wait_drive_no_others_out() {
    let db = with(Retention {
        bytes: Some(1_500_000),
        ..Retention::default()
    });
    let total = 300_000;
    let value = |at: i64| (at * 7919 % 1000) as f64 / 10.0;
    let mut series = db.series(&labels(1)).unwrap();
    let samples: Vec<Sample> = (0..total).map(|at| Sample::new(at, value(at))).collect();
    series.append_batch(&samples).unwrap();
    for at in 0..total / 2 {
        // The same again, so that in its place it takes nothing.
        series.append(Sample::new(at, value(at))).unwrap();
        if at % 10 == 0 {
            series.append(Sample::new(total + at, value(at))).unwrap();
        }
    }
    assert_eq!(count(&db) as i64, total + total / 20);
}

/// Series that are sampled together have heads of one age.
#[test]
fn of_one_age_no_more_goes_than_must() {
    let limit = 150_000;
    let db = with(Retention {
        bytes: Some(limit),
        ..Retention::default()
    });
    let mut reached = false;
    for at in 0..200 {
        for host in 0..100 {
            db.append(&labels(host), Sample::new(at, 1.0)).unwrap();
            let used = db.stats().sample_bytes;
            assert!(used <= limit);
            assert!(!reached || used > limit * 3 / 4, "{used} bytes are left");
            reached |= used > limit * 9 / 10;
        }
    }
    assert!(reached);
}

/// There is no time after the last, so these were once older than none.
#[test]
fn samples_of_the_last_time_go_too() {
    let limit = 100_000;
    let db = Db::new(DbOptions {
        duplicates: DuplicatePolicy::KeepAll,
        retention: Retention {
            bytes: Some(limit),
            ..Retention::default()
        },
        ..DbOptions::default()
    });
    let mut series = db.series(&labels(1)).unwrap();
    for value in 0..100_000 {
        let value = f64::from(value).sqrt();
        series.append(Sample::new(i64::MAX, value)).unwrap();
        assert!(db.stats().sample_bytes <= limit);
    }
    assert!(count(&db) > 5_000);
}

#[test]
fn a_full_engine_refuses_and_keeps_what_it_has() {
    let db = Db::new(DbOptions {
        limits: Limits {
            bytes: Some(100_000),
            ..Limits::default()
        },
        ..DbOptions::default()
    });
    let mut series = db.series(&labels(1)).unwrap();
    let mut random = 1u64;
    let mut accepted = 0;
    let error = loop {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        match series.append(Sample::new(accepted, f64::from_bits(random))) {
            Ok(()) => accepted += 1,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error, Error::MemoryFull { max: 100_000, .. }),
        "{error}"
    );
    assert_eq!(
        count(&db),
        accepted as usize,
        "each accepted sample is readable"
    );
    let error = db.append(&labels(2), Sample::new(0, 0.0)).unwrap_err();
    assert!(matches!(error, Error::MemoryFull { .. }));

    db.delete(&[Matcher::equal("host", "1")], i64::MIN, accepted / 2)
        .unwrap();
    series.append(Sample::new(accepted, 1.0)).unwrap();
}

#[test]
fn a_full_engine_refuses_late_samples() {
    for duplicates in [DuplicatePolicy::LastWins, DuplicatePolicy::Reject] {
        let db = Db::new(DbOptions {
            duplicates,
            limits: Limits {
                bytes: Some(100_000),
                ..Limits::default()
            },
            ..DbOptions::default()
        });
        let newest = 100_000;
        let mut series = db.series(&labels(1)).unwrap();
        series.append(Sample::new(newest, 0.0)).unwrap();
        let late = |back: &i64| Sample::new(newest - back, (*back as f64).sqrt());
        let refused = (1..newest).find(|back| series.append(late(back)).is_err());
        let refused = refused.expect("a bound");
        let error = series.append(late(&refused)).unwrap_err();
        assert!(matches!(error, Error::MemoryFull { max: 100_000, .. }));
        assert_eq!(count(&db) as i64, refused, "{duplicates:?}");
        assert!(db.stats().total_bytes() < 150_000);
        // There is room in the head.
        series.append(Sample::new(newest + 1, 1.0)).unwrap();
        if duplicates == DuplicatePolicy::LastWins {
            series.append(Sample::new(newest, 2.0)).unwrap();
        }
    }
}

/// Metadata once counted towards nothing: whoever sent new names and helps filled all memory.
#[test]
fn metadata_counts_and_can_be_taken_away() {
    let db = Db::new(DbOptions {
        limits: Limits {
            bytes: Some(100_000),
            ..Limits::default()
        },
        ..DbOptions::default()
    });
    let helpful = |bytes: usize| Metadata {
        help: "h".repeat(bytes),
        ..Metadata::default()
    };
    let name = |number: usize| format!("metric_{number}");
    let described = (0..)
        .find(|number| db.set_metadata(&name(*number), helpful(1_000)).is_err())
        .expect("a bound");
    assert!((80..100).contains(&described), "{described} metrics");
    assert_eq!(db.all_metadata().len(), described);
    let stats = db.stats();
    assert_eq!(stats.total_bytes(), stats.metadata_bytes);
    assert!((1_000 * described..=100_000).contains(&stats.metadata_bytes));

    // What is no longer than before needs no room.
    db.set_metadata(&name(0), helpful(1_000)).unwrap();
    db.set_metadata(&name(0), helpful(1)).unwrap();
    let error = db.set_metadata(&name(0), helpful(10_000)).unwrap_err();
    assert!(matches!(error, Error::MemoryFull { max: 100_000, .. }));
    assert_eq!(db.metadata(&name(0)), Some(helpful(1)));

    for number in 0..described {
        let nothing = Metadata::default();
        db.set_metadata(&name(number), nothing).unwrap();
        assert_eq!(db.metadata(&name(number)), None);
    }
    assert_eq!(db.stats(), Stats::default());
}

#[test]
fn series_and_labels_are_bounded() {
    let db = Db::new(DbOptions {
        limits: Limits {
            series: Some(2),
            labels_per_series: 2,
            label_value_bytes: 10,
            ..Limits::default()
        },
        ..DbOptions::default()
    });
    for host in 0..2 {
        db.append(&labels(host), Sample::new(0, 0.0)).unwrap();
    }
    let error = db.append(&labels(2), Sample::new(0, 0.0)).unwrap_err();
    assert!(matches!(error, Error::TooManySeries { max: 2 }));
    db.delete(&[Matcher::equal("host", "0")], i64::MIN, i64::MAX)
        .unwrap();
    db.append(&labels(2), Sample::new(0, 0.0)).unwrap();

    let many = Labels::new("m", [("a", "1"), ("b", "2")]).unwrap();
    let error = db.append(&many, Sample::new(0, 0.0)).unwrap_err();
    assert!(matches!(error, Error::TooManyLabels { max: 2, actual: 3 }));
    let long = Labels::new("m", [("a", "12345678901")]).unwrap();
    let error = db.append(&long, Sample::new(0, 0.0)).unwrap_err();
    assert!(matches!(
        error,
        Error::LabelTooLong {
            max: 10,
            actual: 11,
            ..
        }
    ));
    let nameless = Labels::new("", [("a", "1")]).unwrap();
    let error = db.append(&nameless, Sample::new(0, 0.0)).unwrap_err();
    assert!(matches!(error, Error::MissingMetric { .. }));
}

/// A store that this one answers wiped a full table: of 100,000 accepted points 3,208 were read.
#[test]
fn nothing_accepted_is_lost_in_memory() {
    let db = Db::new(DbOptions::default());
    for at in 0..100_000 {
        db.append(&labels(at as usize % 7), Sample::new(at, at as f64))
            .unwrap();
    }
    assert_eq!(count(&db), 100_000);
}
