//! Concurrent writers, readers and deleters.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tsdb::{Db, DbOptions, Labels, Matcher, Sample};

fn labels(host: usize) -> Labels {
    Labels::new("m", [("host", host.to_string())]).unwrap()
}

fn read(db: &Db, host: usize) -> Vec<Sample> {
    let mut samples = Vec::new();
    let matcher = Matcher::equal("host", host.to_string());
    for series in db.select(&[matcher], i64::MIN, i64::MAX).iter() {
        series.collect_into(&mut samples);
    }
    samples
}

const POINTS: i64 = 30_000;

/// Each read returns a prefix of one writer's samples, and no read returns fewer samples than the
/// previous one. Meanwhile heads grow, frames are packed and blocks are sealed.
#[test]
fn readers_see_prefix_of_concurrent_writes() {
    let db = Db::new(DbOptions::default());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for host in 0..2 {
            let mut series = db.series(&labels(host)).unwrap();
            scope.spawn(move || {
                for time in 0..POINTS {
                    series
                        .append(Sample::new(time, time as f64 / 10.0))
                        .unwrap();
                }
            });
        }
        scope.spawn(|| {
            let mut seen = 0;
            while seen < POINTS as usize {
                let samples = read(&db, 1);
                assert!(samples.len() >= seen, "samples vanished");
                seen = samples.len();
                for (time, sample) in (0..).zip(&samples) {
                    assert_eq!(*sample, Sample::new(time, time as f64 / 10.0));
                }
            }
            done.store(true, Ordering::Release);
        });
    });
    assert!(done.load(Ordering::Acquire));
}

/// The timestamps of the writers interleave, so each writer's samples can be older than the other
/// writer's last one.
#[test]
fn concurrent_writers_of_one_series_lose_no_sample() {
    let db = Db::new(DbOptions::default());
    thread::scope(|scope| {
        for writer in 0..4 {
            let db = &db;
            scope.spawn(move || {
                for time in (writer..POINTS).step_by(4) {
                    db.append(&labels(0), Sample::new(time, time as f64))
                        .unwrap();
                }
            });
        }
    });
    let expected: Vec<Sample> = (0..POINTS)
        .map(|time| Sample::new(time, time as f64))
        .collect();
    assert_eq!(read(&db, 0), expected);
    assert_eq!(db.series_count(), 1);
}

/// Two writers hold the deleted series. Only one new series begins, and the index lists it.
#[test]
fn series_deleted_while_written_begins_again() {
    let db = Db::new(DbOptions::default());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2i64)
            .map(|writer| {
                let mut series = db.series(&labels(0)).unwrap();
                scope.spawn(move || {
                    for time in 0..POINTS {
                        series.append(Sample::new(2 * time + writer, 1.0)).unwrap();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                db.delete(&[], i64::MIN, i64::MAX).unwrap();
                assert!(db.series_count() <= 1);
            }
        });
        writers
            .into_iter()
            .for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Release);
    });
    db.append(&labels(0), Sample::new(0, 1.0)).unwrap();
    assert_eq!(db.list_series(&[]), [labels(0)]);
    db.delete(&[], i64::MIN, i64::MAX).unwrap();
    assert_eq!(db.stats().total_bytes(), 0);
    assert!(db.label_names(&[]).is_empty());
}
