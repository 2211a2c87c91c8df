use std::collections::BTreeMap;
use std::time::Duration;

use rand::Rng;
use tsdb::{
    Batch, Db, DbOptions, DuplicatePolicy, Durability, Error, Metadata, OpenOptions, Sample,
};

use crate::support::{Disk, Dump, Load, dump, labels, open, options, segments};

const MODES: [Durability; 3] = [
    Durability::Unsynced,
    Durability::Periodic(Duration::from_millis(1)),
    Durability::Commit,
];

/// A clean close and reopen once lost a million samples.
#[test]
fn reopen_restores_million_samples() -> Result<(), Error> {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Db::open(folder.path(), OpenOptions::default())?;
    let mut batch = Batch::new();
    for time in 0..1_000 {
        for host in 0..1_000 {
            batch.push(
                &labels(host),
                Sample::new(time * 10_000, (time + host as i64) as f64 / 100.0),
            );
        }
        let report = db.write(&mut batch);
        assert_eq!(report.written, 1_000);
    }
    let before = dump(&db);
    db.close()?;
    drop(db);

    let db = Db::open(folder.path(), OpenOptions::default())?;
    let recovery = db.recovery().expect("there are files");
    assert_eq!(recovery.samples, 1_000_000);
    assert!(recovery.closed);
    assert!(dump(&db) == before);
    Ok(())
}

/// The series, the metadata, and the memory of the metadata.
fn state(db: &Db) -> (Dump, BTreeMap<String, Metadata>, usize) {
    (dump(db), db.all_metadata(), db.stats().metadata_bytes)
}

#[test]
fn repeated_reopening_keeps_every_operation() -> Result<(), Error> {
    for mode in MODES {
        for duplicates in [
            DuplicatePolicy::KeepAll,
            DuplicatePolicy::LastWins,
            DuplicatePolicy::FirstWins,
        ] {
            let seed = rand::rng().random();
            println!("seed {seed}, {mode:?}, {duplicates:?}");
            let disk = Disk::new();
            let mut options = options(mode);
            options.db.duplicates = duplicates;
            options.segment_bytes = 20_000;
            let mut load = Load::new(seed, 20);
            let mut expected = Default::default();
            for reopening in 0..5 {
                let db = open(&disk, &options)?;
                assert!(state(&db) == expected, "reopening {reopening}");
                load.steps(&db, 100);
                expected = state(&db);
            }
            assert!(
                segments(&disk).len() > 5,
                "each opening wrote more than one segment"
            );
        }
    }
    Ok(())
}

#[test]
fn dropping_last_clone_closes_log() -> Result<(), Error> {
    let disk = Disk::new();
    let options = options(Durability::Periodic(Duration::from_secs(3600)));
    let db = open(&disk, &options)?;
    let mut series = db.series(&labels(1))?;
    drop(db);
    series.append(Sample::new(1, 1.0))?;
    drop(series);
    let db = open(&disk, &options)?;
    assert!(db.recovery().is_some_and(|recovery| recovery.closed));
    assert_eq!(dump(&db).len(), 1);
    Ok(())
}

#[test]
fn closed_database_refuses_writes_and_serves_reads() -> Result<(), Error> {
    let disk = Disk::new();
    let db = open(&disk, &options(Durability::Commit))?;
    db.append(&labels(1), Sample::new(1, 1.0))?;
    db.close()?;
    db.close()?;
    let refused = db.append(&labels(1), Sample::new(2, 2.0));
    assert!(matches!(refused, Err(Error::Closed)), "{refused:?}");
    assert_eq!(dump(&db).values().map(Vec::len).sum::<usize>(), 1);
    Ok(())
}

/// Samples that were accepted stay when the database is reopened with stricter options.
#[test]
fn reopening_with_narrower_options_keeps_samples() -> Result<(), Error> {
    let disk = Disk::new();
    let db = open(&disk, &options(Durability::Commit))?;
    for time in [10_000, 1, 5_000, 5_000] {
        db.append(&labels(1), Sample::new(time, 1.0))?;
    }
    db.append(&labels(2), Sample::new(1, 1.0))?;
    let before = dump(&db);
    drop(db);

    let mut narrow = options(Durability::Commit);
    narrow.db = DbOptions {
        out_of_order_window_ms: Some(0),
        ..narrow.db
    };
    narrow.db.limits.series = Some(1);
    let db = open(&disk, &narrow)?;
    assert!(dump(&db) == before);
    let refused = db.append(&labels(3), Sample::new(1, 1.0));
    assert!(
        matches!(refused, Err(Error::TooManySeries { .. })),
        "{refused:?}"
    );
    Ok(())
}

/// If retention removes a whole series, the log records the series' end, not the deletion of its
/// samples. After a reopen, the samples once counted towards the size until the next restart.
#[test]
fn series_removed_by_retention_leaves_no_bytes() -> Result<(), Error> {
    let disk = Disk::new();
    let mut options = options(Durability::Commit);
    options.db.retention.bytes = Some(20_000);
    let db = open(&disk, &options)?;
    let samples = |from: i64| {
        let numbers = from..from + 3_000;
        let samples = numbers.map(|time| Sample::new(time, (time as f64).sqrt()));
        samples.collect::<Vec<_>>()
    };
    for host in 0..5 {
        let mut series = db.series(&labels(host))?;
        for samples in samples(host as i64 * 10_000).chunks(100) {
            series.append_batch(samples)?;
        }
    }
    let left = db.series_count();
    assert!(left < 5);
    drop(db);

    options.db.retention.bytes = None;
    let db = open(&disk, &options)?;
    assert_eq!(db.series_count(), left);
    db.delete(&[], i64::MIN, i64::MAX)?;
    assert_eq!(db.stats().total_bytes(), 0);
    Ok(())
}

#[test]
fn files_with_other_names_are_left_alone() -> Result<(), Error> {
    let disk = Disk::new();
    let options = options(Durability::Commit);
    let names = [
        "notes.tmp",
        "log-+000000000000001",
        "log-00000000000000AB",
        "snapshot-7",
    ];
    for name in names {
        disk.put(name, vec![7; 100]);
    }
    disk.put("snapshot-0000000000000009.tmp", vec![7; 100]);
    for time in 0..3 {
        let db = open(&disk, &options)?;
        db.append(&labels(1), Sample::new(time, 1.0))?;
        db.write_snapshot()?;
    }
    let mut others = disk.names();
    others.retain(|name| disk.bytes(name) == [7; 100]);
    others.sort_unstable();
    let mut expected = names;
    expected.sort_unstable();
    assert_eq!(others, expected);
    Ok(())
}

#[test]
fn snapshot_of_closed_database_keeps_it_closed() -> Result<(), Error> {
    let disk = Disk::new();
    let options = options(Durability::Commit);
    let db = open(&disk, &options)?;
    db.append(&labels(1), Sample::new(1, 1.0))?;
    db.close()?;
    db.write_snapshot()?;
    let before = dump(&db);
    drop(db);
    let db = open(&disk, &options)?;
    assert!(dump(&db) == before);
    assert!(db.recovery().is_some_and(|recovery| recovery.closed));
    Ok(())
}

#[test]
fn recovery_progress_reaches_total() -> Result<(), Error> {
    let disk = Disk::new();
    let mut options = options(Durability::Commit);
    options.segment_bytes = 10_000;
    Load::new(1, 5).steps(&open(&disk, &options)?, 200);
    let mut seen = Vec::new();
    let db = Db::open_on(disk, options, |progress| {
        seen.push((progress.read_bytes, progress.total_bytes, progress.samples));
    })?;
    assert!(seen.is_sorted());
    let recovery = db.recovery().expect("there are files");
    let all = (recovery.total_bytes, recovery.total_bytes, recovery.samples);
    assert_eq!(seen.last(), Some(&all));
    assert!(seen.len() > 100, "{} steps", seen.len());
    Ok(())
}
