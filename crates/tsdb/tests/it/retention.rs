//! Retention deletes samples, and limits refuse them.

use std::time::{SystemTime, UNIX_EPOCH};

use tsdb::{
    Db, DbOptions, DuplicatePolicy, Error, LabelError, Labels, Limits, Matcher, Metadata,
    Retention, Sample, Stats,
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

fn db_with(retention: Retention) -> Db {
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
fn samples_beyond_age_are_hidden_freed_and_refused() {
    let hour_ms = 3_600_000;
    let db = db_with(Retention {
        age_ms: Some(hour_ms as u64),
        ..Retention::default()
    });
    let now = now_ms();
    let mut old = db.series(&labels(1)).unwrap();
    let error = old.append(Sample::new(now - 2 * hour_ms, 1.0)).unwrap_err();
    assert!(matches!(error, Error::BeyondRetention { .. }), "{error}");
    assert_eq!(db.series_count(), 0);

    // These samples reach the maximum age before the last assertion.
    let margin_ms = 300;
    for index in 0..1_000 {
        let time = now - hour_ms + margin_ms + index % 2;
        old.append(Sample::new(time, 1.0)).unwrap();
    }
    db.append(&labels(2), Sample::new(now, 2.0)).unwrap();
    while now_ms() < now + margin_ms + 10 {
        std::thread::yield_now();
    }
    assert_eq!(
        count(&db),
        1,
        "expired samples are hidden before they are freed"
    );
    let deleted = db.enforce_retention();
    assert_eq!(deleted.series, 1);
    assert_eq!(db.label_values("host", &[]), ["2"]);
}

#[test]
fn byte_limit_removes_oldest_first() {
    let limit = 200_000;
    let db = db_with(Retention {
        bytes: Some(limit),
        ..Retention::default()
    });
    let total = 1_000_000;
    for host in 0..4 {
        let mut series = db.series(&labels(host)).unwrap();
        for start in (0..total / 4).step_by(1_000) {
            // Later hosts are newer.
            let time = |index: i64| i64::from(host as u32) * 10_000_000 + start + index;
            let value = |index: i64| ((start + index) * 7919 % 1000) as f64 / 10.0;
            let batch: Vec<Sample> = (0..1_000).map(|p| Sample::new(time(p), value(p))).collect();
            series.append_batch(&batch).unwrap();
            assert!(db.stats().total_bytes() < limit + 50_000);
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

/// Late samples wait in a list beside the head. The list once grew without bound, because a write
/// only checked the space in the head.
#[test]
fn byte_limit_covers_late_samples() {
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
        for time in (0..20_000).rev() {
            series
                .append(Sample::new(time, (time as f64).sqrt()))
                .unwrap();
            assert!(db.stats().total_bytes() < limit + 50_000, "{duplicates:?}");
        }
        assert!(count(&db) > 10_000);
    }
}

/// Late samples take more memory while they wait than later in their blocks. This once caused the
/// deletion of all samples.
#[test]
fn waiting_late_samples_evict_no_others() {
    let db = db_with(Retention {
        bytes: Some(1_500_000),
        ..Retention::default()
    });
    let total = 300_000;
    let value = |time: i64| (time * 7919 % 1000) as f64 / 10.0;
    let mut series = db.series(&labels(1)).unwrap();
    let samples: Vec<Sample> = (0..total)
        .map(|time| Sample::new(time, value(time)))
        .collect();
    series.append_batch(&samples).unwrap();
    for time in 0..total / 2 {
        // A duplicate, which will take no space in its block.
        series.append(Sample::new(time, value(time))).unwrap();
        if time % 10 == 0 {
            series
                .append(Sample::new(total + time, value(time)))
                .unwrap();
        }
    }
    assert_eq!(count(&db) as i64, total + total / 20);
}

/// Series that are sampled together have heads of the same age.
#[test]
fn eviction_of_equal_ages_stops_at_limit() {
    let limit = 200_000;
    let db = db_with(Retention {
        bytes: Some(limit),
        ..Retention::default()
    });
    let mut reached = false;
    for time in 0..200 {
        for host in 0..100 {
            db.append(&labels(host), Sample::new(time, 1.0)).unwrap();
            let used = db.stats().total_bytes();
            assert!(used <= limit);
            assert!(!reached || used > limit * 3 / 4, "{used} bytes are left");
            reached |= used > limit * 9 / 10;
        }
    }
    assert!(reached);
}

/// No time follows the maximum, so these samples once never counted as old.
#[test]
fn samples_at_maximum_time_are_evicted() {
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
        assert!(db.stats().total_bytes() <= limit);
    }
    assert!(count(&db) > 5_000);
}

#[test]
fn full_engine_refuses_writes_and_keeps_samples() {
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
fn full_engine_refuses_late_samples() {
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
        let refused = refused.expect("the limit is reached");
        let error = series.append(late(&refused)).unwrap_err();
        assert!(matches!(error, Error::MemoryFull { max: 100_000, .. }));
        assert_eq!(count(&db) as i64, refused, "{duplicates:?}");
        assert!(db.stats().total_bytes() < 150_000);
        // The head still has space.
        series.append(Sample::new(newest + 1, 1.0)).unwrap();
        if duplicates == DuplicatePolicy::LastWins {
            series.append(Sample::new(newest, 2.0)).unwrap();
        }
    }
}

/// Metadata once counted towards no limit, so a sender of new names and help texts could fill all
/// memory.
#[test]
fn metadata_counts_towards_byte_limit() {
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
        .expect("the limit is reached");
    assert!((80..100).contains(&described), "{described} metrics");
    assert_eq!(db.all_metadata().len(), described);
    let stats = db.stats();
    assert_eq!(stats.total_bytes(), stats.metadata_bytes);
    assert!((1_000 * described..=100_000).contains(&stats.metadata_bytes));

    // A text that is not longer than before needs no space.
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
fn series_and_label_limits_refuse_writes() {
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
        Error::Label(LabelError::TooLong {
            max: 10,
            actual: 11,
            ..
        })
    ));
    let nameless = Labels::new("", [("a", "1")]).unwrap();
    let error = db.append(&nameless, Sample::new(0, 0.0)).unwrap_err();
    assert!(matches!(error, Error::MissingMetric { .. }));
}

/// A well-known in-memory store wiped a full table: of 100,000 accepted points, 3,208 could be
/// read.
#[test]
fn every_accepted_sample_is_readable() {
    let db = Db::new(DbOptions::default());
    for time in 0..100_000 {
        db.append(&labels(time as usize % 7), Sample::new(time, time as f64))
            .unwrap();
    }
    assert_eq!(count(&db), 100_000);
}
