//! Writers, readers and deleters at once.

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

/// A reader sees a beginning of what one writer wrote, whole to the last sample, and never less
/// than before: through heads that grow, frames that are packed and blocks that are sealed.
#[test]
fn readers_see_a_beginning_of_what_is_written() {
    let db = Db::new(DbOptions::default());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for host in 0..2 {
            let mut series = db.series(&labels(host)).unwrap();
            scope.spawn(move || {
                for at in 0..POINTS {
                    series.append(Sample::new(at, at as f64 / 10.0)).unwrap();
                }
            });
        }
        scope.spawn(|| {
            let mut seen = 0;
            while seen < POINTS as usize {
                let samples = read(&db, 1);
                assert!(samples.len() >= seen, "samples vanished");
                seen = samples.len();
                for (at, sample) in (0..).zip(&samples) {
                    assert_eq!(*sample, Sample::new(at, at as f64 / 10.0));
                }
            }
            done.store(true, Ordering::Release);
        });
    });
    assert!(done.load(Ordering::Acquire));
}

/// Writers of one series that each write times of their own: late for the others.
#[test]
fn writers_of_one_series_lose_nothing() {
    let db = Db::new(DbOptions::default());
    thread::scope(|scope| {
        for writer in 0..4 {
            let db = &db;
            scope.spawn(move || {
                for at in (writer..POINTS).step_by(4) {
                    db.append(&labels(0), Sample::new(at, at as f64)).unwrap();
                }
            });
        }
    });
    let expected: Vec<Sample> = (0..POINTS).map(|at| Sample::new(at, at as f64)).collect();
    assert_eq!(read(&db, 0), expected);
    assert_eq!(db.series_count(), 1);
}

/// A series that is deleted while handles write to it begins again, once, and the index knows it.
#[test]
fn a_series_that_ends_under_its_writers_begins_again() {
    let db = Db::new(DbOptions::default());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2i64)
            .map(|writer| {
                let mut series = db.series(&labels(0)).unwrap();
                scope.spawn(move || {
                    for at in 0..POINTS {
                        series.append(Sample::new(2 * at + writer, 1.0)).unwrap();
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
