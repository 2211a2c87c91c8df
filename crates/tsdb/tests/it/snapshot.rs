//! Snapshots: they keep every sample, replace the log before them, and survive a crash at any
//! point.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conformance_suite::stride;
use rand::Rng;
use tsdb::{Db, DuplicatePolicy, Durability, Error, OpenOptions, Sample};

use crate::support::{Disk, Load, Survivors, dump, labels, open, options, segments};

fn small_segments() -> OpenOptions {
    OpenOptions {
        segment_bytes: 4_000,
        ..options(Durability::Commit)
    }
}

fn snapshots(disk: &Disk) -> Vec<String> {
    let mut names = disk.names();
    names.retain(|name| name.starts_with("snapshot-"));
    names
}

/// Runs each writer in a thread, and takes snapshots without pause until all have ended.
fn with_snapshots<W: FnOnce() + Send>(db: &Db, writers: impl IntoIterator<Item = W>) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = writers
            .into_iter()
            .map(|writer| scope.spawn(writer))
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                db.write_snapshot().expect("a snapshot");
            }
        });
        for writer in writers {
            writer.join().expect("a writer");
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn snapshot_replaces_log_before_it() -> Result<(), Error> {
    let seed = rand::rng().random();
    println!("seed {seed}");
    let disk = Disk::new();
    let options = small_segments();
    let mut load = Load::new(seed, 10);
    let mut expected = (dump(&Db::new(options.db.clone())), Default::default());
    for round in 0..5 {
        let db = open(&disk, &options)?;
        assert!((dump(&db), db.all_metadata()) == expected, "round {round}");
        load.steps(&db, 100);
        let before = segments(&disk).len();
        db.write_snapshot()?;
        assert!(before > 1);
        assert_eq!((snapshots(&disk).len(), segments(&disk).len()), (1, 1));
        load.steps(&db, 30);
        expected = (dump(&db), db.all_metadata());
    }
    Ok(())
}

/// A crash before or after any change to the disk finds every write.
#[test]
fn crash_during_snapshot_loses_nothing() -> Result<(), Error> {
    let disk = Disk::new();
    let options = small_segments();
    let db = open(&disk, &options)?;
    let mut load = Load::new(3, 5);
    load.steps(&db, 50);
    db.write_snapshot()?;
    load.steps(&db, 50);
    let expected = dump(&db);
    disk.keep_history();
    db.write_snapshot()?;
    let mut moments = disk.history();
    moments.push(disk.copy());
    assert!(moments.len() > 10, "{} moments", moments.len());
    for (moment, image) in moments.iter().enumerate() {
        let partly = (0..10).map(Survivors::Some);
        for survivors in [Survivors::None, Survivors::All].into_iter().chain(partly) {
            let crashed = image.after_crash(&survivors);
            let db = open(&crashed, &options)?;
            assert!(dump(&db) == expected, "moment {moment}");
            drop(db);
            let left: Vec<String> = crashed.names();
            assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{left:?}");
            assert!(snapshots(&crashed).len() == 1, "{left:?}");
            assert!(
                dump(&open(&crashed, &options)?) == expected,
                "moment {moment}, again"
            );
        }
    }
    Ok(())
}

#[test]
fn snapshots_during_writes_lose_nothing() -> Result<(), Error> {
    for mode in [
        Durability::Periodic(Duration::from_millis(1)),
        Durability::Commit,
    ] {
        let disk = Disk::new();
        let options = OpenOptions {
            segment_bytes: 20_000,
            ..options(mode)
        };
        let db = open(&disk, &options)?;
        let writers = [0, 1, 2].map(|seed| {
            let db = db.clone();
            move || assert!(Load::new(seed, 8).steps(&db, 400) > 0)
        });
        with_snapshots(&db, writers);
        db.sync()?;
        let crashed = open(&disk.after_crash(&Survivors::None), &options)?;
        assert!(dump(&crashed) == dump(&db), "{mode:?}");
    }
    Ok(())
}

/// Handles write without the shard's lock. Each sample must be either in the snapshot or in the log
/// after it, not in both.
#[test]
fn handle_writes_during_snapshots_are_stored_once() -> Result<(), Error> {
    const SAMPLES: i64 = 500_000;
    let disk = Disk::new();
    let mut options = options(Durability::Periodic(Duration::from_millis(1)));
    options.db.duplicates = DuplicatePolicy::KeepAll;
    let db = open(&disk, &options)?;
    let writers = (0..2).map(|host| {
        let mut series = db.series(&labels(host)).expect("a handle");
        move || {
            for time in 0..SAMPLES {
                series.append(Sample::new(time, 1.0)).expect("accepted");
            }
        }
    });
    with_snapshots(&db, writers);
    db.sync()?;
    let crashed = open(&disk.after_crash(&Survivors::None), &options)?;
    assert!(dump(&crashed) == dump(&db));
    Ok(())
}

#[test]
fn background_thread_snapshots_growing_log() -> Result<(), Error> {
    let disk = Disk::new();
    let options = OpenOptions {
        snapshot_after_bytes: Some(50_000),
        ..small_segments()
    };
    let db = open(&disk, &options)?;
    let mut load = Load::new(4, 3);
    let mut seen = Vec::new();
    while seen.len() < 3 {
        load.step(&db);
        seen.extend(snapshots(&disk));
        seen.retain(|name| !name.ends_with(".tmp"));
        seen.sort();
        seen.dedup();
    }
    let before = dump(&db);
    drop(db);
    assert!(dump(&open(&disk, &options)?) == before);
    Ok(())
}

#[test]
fn snapshot_on_full_disk_changes_nothing() -> Result<(), Error> {
    let disk = Disk::new();
    let options = small_segments();
    let db = open(&disk, &options)?;
    Load::new(6, 5).steps(&db, 50);
    disk.set_space(Some(1_000));
    assert!(matches!(db.write_snapshot(), Err(Error::DiskFull(_))));
    assert!(snapshots(&disk).is_empty());
    disk.set_space(None);
    db.append(&labels(0), Sample::new(1, 1.0))?;
    let crashed = open(&disk.after_crash(&Survivors::None), &options)?;
    assert!(dump(&crashed) == dump(&db));
    db.write_snapshot()?;
    assert_eq!(snapshots(&disk).len(), 1);
    Ok(())
}

#[test]
fn failed_background_snapshot_shows_in_stats() -> Result<(), Error> {
    let disk = Disk::new();
    let options = OpenOptions {
        snapshot_after_bytes: Some(20_000),
        ..small_segments()
    };
    let db = open(&disk, &options)?;
    // Enough space for the log until the snapshot begins, but not for the snapshot, which has the
    // same size.
    disk.set_space(Some(24_000));
    let mut host = 0;
    while db.stats().failed_snapshots == 0 {
        // The append fails when the disk is full.
        let _ = db.append(&labels(host), Sample::new(1, 1.0));
        host += 1;
    }
    assert!(snapshots(&disk).is_empty());
    Ok(())
}

/// Each flush during a snapshot once requested another snapshot, which followed at once.
#[test]
fn snapshot_requested_twice_is_taken_once() -> Result<(), Error> {
    let disk = Disk::new();
    let options = OpenOptions {
        snapshot_after_bytes: Some(10_000),
        ..options(Durability::Commit)
    };
    let db = open(&disk, &options)?;
    disk.hold_renames(true);
    let log_bytes = || -> usize {
        let files = disk.names().into_iter();
        let files = files.filter(|name| name.starts_with("log-"));
        files.map(|name| disk.bytes(&name).len()).sum()
    };
    let mut host = 0;
    while disk.renames() == 0 {
        // Enough for one snapshot. On a busy machine it begins late, and more samples meanwhile would
        // make a second one due.
        if log_bytes() < 11_000 {
            db.append(&labels(host), Sample::new(1, 1.0))?;
            host += 1;
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    db.append(&labels(host), Sample::new(1, 1.0))?;
    disk.hold_renames(false);
    for _ in 0..100 {
        db.sync()?;
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(disk.renames(), 1);
    Ok(())
}

/// A snapshot that failed to begin was once retried in a loop.
#[test]
fn snapshot_that_cannot_begin_is_retried_later() -> Result<(), Error> {
    let disk = Disk::new();
    let options = OpenOptions {
        snapshot_after_bytes: Some(1_000),
        ..options(Durability::Commit)
    };
    let db = open(&disk, &options)?;
    disk.fail_creates(true);
    let mut host = 0;
    while db.stats().failed_snapshots == 0 {
        // The append fails now and then, while the log handles the failure.
        let _ = db.append(&labels(host), Sample::new(1, 1.0));
        host += 1;
        std::thread::sleep(Duration::from_millis(1));
    }
    for _ in 0..100 {
        // The sync fails if the log has not yet handled the failure of a write.
        let _ = db.sync();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(db.stats().failed_snapshots, 1);
    assert!(snapshots(&disk).is_empty());
    Ok(())
}

/// A snapshot has no torn end, because it gets its name only when it is complete.
#[test]
fn truncated_or_changed_snapshot_is_corrupt() -> Result<(), Error> {
    let disk = Disk::new();
    let options = small_segments();
    let db = open(&disk, &options)?;
    Load::new(9, 3).steps(&db, 20);
    db.write_snapshot()?;
    drop(db);
    let name = snapshots(&disk).remove(0);
    let bytes = disk.bytes(&name);
    for length in (0..bytes.len()).step_by(5) {
        disk.put(&name, bytes[..length].to_vec());
        let opened = open(&disk, &options);
        assert!(
            matches!(opened, Err(Error::Corrupt { .. })),
            "{length} bytes"
        );
    }
    // 5 has no factor in common with 8, so that every bit of a byte is flipped somewhere.
    for bit in (0..bytes.len() * 8).step_by(stride(5)) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        disk.put(&name, flipped);
        let opened = open(&disk, &options);
        assert!(matches!(opened, Err(Error::Corrupt { .. })), "bit {bit}");
    }
    disk.put(&name, bytes);
    assert!(open(&disk, &options).is_ok());
    Ok(())
}

/// The order of samples with equal timestamps is part of the state.
#[test]
fn snapshot_keeps_order_of_equal_timestamps() -> Result<(), Error> {
    let disk = Disk::new();
    let options = small_segments();
    let db = open(&disk, &options)?;
    for value in 0..500 {
        db.append(&labels(1), Sample::new(7, f64::from(value)))?;
    }
    let before = dump(&db);
    db.write_snapshot()?;
    drop(db);
    assert!(dump(&open(&disk, &options)?) == before);
    Ok(())
}
