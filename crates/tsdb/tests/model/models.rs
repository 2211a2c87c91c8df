use shuttle::thread;

use crate::{Db, DbOptions, Labels, Matcher, Sample};

fn explore(model: impl Fn() + Send + Sync + 'static) {
    // A failure prints the schedule that led to it, for `shuttle::replay`.
    shuttle::check_pct(model, conformance_suite::effort(200), 3);
}

fn labels() -> Labels {
    Labels::new("m", [("host", "a")]).expect("labels")
}

fn read(db: &Db) -> Vec<Sample> {
    let mut samples = Vec::new();
    for series in db
        .select(&[Matcher::metric("m")], i64::MIN, i64::MAX)
        .iter()
    {
        series.collect_into(&mut samples);
    }
    samples
}

/// The head grows at 16 and 64 samples, is packed into a frame at 128, and takes a late sample. A
/// reader sees the state before or after each of these steps, never a state in between.
#[test]
fn reader_sees_prefix_of_concurrent_writes() {
    explore(|| {
        let db = Db::new(DbOptions::default());
        let mut series = db.series(&labels()).expect("a handle");
        let first: Vec<Sample> = (0..120).map(|time| Sample::new(2 * time, 1.0)).collect();
        series.append_batch(&first).expect("accepted");
        let writer = thread::spawn(move || {
            for time in 120..132 {
                series.append(Sample::new(2 * time, 1.0)).expect("accepted");
            }
            series.append(Sample::new(1, 1.0)).expect("accepted");
        });
        let mut seen = 0;
        for _ in 0..3 {
            let samples = read(&db);
            let times: Vec<i64> = samples.iter().map(|sample| sample.timestamp_ms).collect();
            assert!(times.is_sorted(), "{times:?}");
            assert!(times.len() >= seen.max(120));
            let late = usize::from(times.contains(&1));
            let even = times.iter().filter(|time| **time % 2 == 0);
            assert!(
                even.copied()
                    .eq((0..(times.len() - late) as i64).map(|time| 2 * time))
            );
            assert!(late == 0 || times.len() == 133);
            seen = times.len();
        }
        writer.join().expect("the writer");
        assert_eq!(read(&db).len(), 133);
    });
}

/// Two writers of a new series create it once, and both samples are stored.
#[test]
fn concurrent_first_writes_create_one_series() {
    explore(|| {
        let db = Db::new(DbOptions::default());
        let writers: Vec<_> = (0..2)
            .map(|time| {
                let db = db.clone();
                thread::spawn(move || db.append(&labels(), Sample::new(time, 1.0)))
            })
            .collect();
        for writer in writers {
            writer.join().expect("the writer").expect("accepted");
        }
        assert_eq!(db.series_count(), 1);
        assert_eq!(db.list_series(&[]), [labels()]);
        assert_eq!(read(&db).len(), 2);
    });
}

/// A series is deleted while a handle writes to it. Afterwards the series either has samples and is
/// in the index, or is gone everywhere.
#[test]
fn series_is_indexed_while_it_has_samples() {
    explore(|| {
        let db = Db::new(DbOptions::default());
        let mut series = db.series(&labels()).expect("a handle");
        series.append(Sample::new(0, 1.0)).expect("accepted");
        let writer = thread::spawn(move || {
            for time in 1..4 {
                series.append(Sample::new(time, 1.0)).expect("accepted");
            }
        });
        for _ in 0..2 {
            db.delete(&[], i64::MIN, i64::MAX).expect("deleted");
        }
        writer.join().expect("the writer");
        let listed = db.list_series(&[]).len();
        assert_eq!(listed, db.series_count());
        assert_eq!(listed, usize::from(!read(&db).is_empty()));
        db.delete(&[], i64::MIN, i64::MAX).expect("deleted");
        assert_eq!(db.stats().total_bytes(), 0);
    });
}
