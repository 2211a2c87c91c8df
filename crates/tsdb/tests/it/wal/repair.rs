//! Repair keeps all that is intact before and after the damage.

use std::ops::Range;

use conformance_suite::stride;
use tsdb::{Db, Durability, Error, FileReport, Sample};

use crate::support::{Disk, Dump, Load, dump, labels, open, options, segments};

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// The places of the frames in a file.
fn frames(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut frames = Vec::new();
    let mut start = HEADER;
    while let Some(length) = bytes[start..].first_chunk() {
        let end = start + FRAME_HEADER + u64::from_le_bytes(*length) as usize;
        frames.push(start..end);
        start = end;
    }
    frames
}

fn flip(disk: &Disk, name: &str, offset: usize) {
    let mut bytes = disk.bytes(name);
    bytes[offset] ^= 1;
    disk.put(name, bytes);
}

/// Repairs the files, and opens them.
fn repaired(disk: &Disk) -> Result<(FileReport, Db), Error> {
    let refused = open(disk, &options(Durability::Commit));
    assert!(matches!(refused, Err(Error::Corrupt { .. })), "{refused:?}");
    let checked = Db::check_files(disk)?;
    let report = Db::repair_files(disk.clone())?;
    assert_eq!(checked.damage, report.damage, "a check sees the same");
    assert_eq!(checked.gaps, report.gaps);
    let db = open(disk, &options(Durability::Commit))?;
    assert!(Db::check_files(disk)?.damage.is_empty());
    Ok((report, db))
}

fn times(db: &Db, host: usize) -> Vec<i64> {
    let dump = dump(db);
    let samples = dump.get(&labels(host).to_string());
    samples.map_or_else(Vec::new, |samples| samples.iter().map(|s| s.0).collect())
}

/// One series per host, one frame per sample, and the clean end of the log.
fn written(samples: &[(usize, i64)]) -> Result<(Disk, String), Error> {
    let disk = Disk::new();
    let db = open(&disk, &options(Durability::Commit))?;
    for (host, time) in samples {
        db.append(&labels(*host), Sample::new(*time, 1.0))?;
    }
    drop(db);
    let name = segments(&disk).remove(0);
    Ok((disk, name))
}

#[test]
fn frames_around_damage_are_kept_and_gaps_reported() -> Result<(), Error> {
    let (disk, name) = written(&[(1, 10), (2, 11), (1, 20), (1, 30)])?;
    let third = frames(&disk.bytes(&name)).remove(2);
    flip(&disk, &name, third.end - 1);
    let damaged = disk.bytes(&name);
    let (report, db) = repaired(&disk)?;
    assert_eq!(times(&db, 1), [10, 30]);
    assert_eq!(times(&db, 2), [11]);
    let [damage] = report.damage.as_slice() else {
        panic!("{:?}", report.damage);
    };
    let place = (damage.file.as_str(), damage.offset, damage.bytes);
    assert_eq!(
        place,
        (name.as_str(), third.start as u64, third.len() as u64)
    );
    let mut gaps: Vec<_> = report.gaps.iter().collect();
    gaps.sort_by_key(|gap| gap.after_ms);
    let gaps: Vec<_> = gaps
        .iter()
        .map(|gap| (gap.labels.clone(), gap.after_ms, gap.before_ms))
        .collect();
    assert_eq!(gaps, [(labels(1), 10, Some(30)), (labels(2), 11, None)]);
    assert_eq!(disk.bytes(&format!("damaged-{name}")), damaged);
    // The repaired files take writes as before.
    db.append(&labels(1), Sample::new(40, 1.0))?;
    drop(db);
    assert_eq!(
        times(&open(&disk, &options(Durability::Commit))?, 1),
        [10, 30, 40]
    );
    Ok(())
}

/// The header of the last frame proves that the one before was durable, though both are damaged.
#[test]
fn two_damaged_frames_at_the_end_are_repaired() -> Result<(), Error> {
    let (disk, name) = written(&[(1, 10), (1, 20)])?;
    for frame in frames(&disk.bytes(&name)).iter().skip(1) {
        flip(&disk, &name, frame.end - 1);
    }
    let (report, db) = repaired(&disk)?;
    assert_eq!(times(&db, 1), [10]);
    assert_eq!(report.damage.len(), 1);
    Ok(())
}

/// A crash leaves a torn end, and a new segment without a header. Neither is damage.
#[test]
fn traces_of_a_crash_are_no_damage() -> Result<(), Error> {
    let (disk, name) = written(&[(1, 10), (1, 20)])?;
    let mut bytes = disk.bytes(&name);
    bytes.truncate(bytes.len() - 3);
    disk.put(&name, bytes);
    disk.put("log-0000000000000002", vec![0; 10]);
    assert!(Db::check_files(&disk)?.damage.is_empty());
    assert!(Db::repair_files(disk.clone())?.damage.is_empty());
    assert_eq!(
        times(&open(&disk, &options(Durability::Commit))?, 1),
        [10, 20]
    );
    Ok(())
}

/// Without its beginning, a series has no labels.
#[test]
fn samples_of_series_with_lost_labels_are_counted() -> Result<(), Error> {
    let (disk, name) = written(&[(1, 10), (2, 11), (2, 12), (1, 20)])?;
    let second = frames(&disk.bytes(&name)).remove(1);
    flip(&disk, &name, second.end - 1);
    let (report, db) = repaired(&disk)?;
    assert_eq!(times(&db, 1), [10, 20]);
    assert_eq!(times(&db, 2), [0; 0]);
    assert_eq!((report.samples, report.unnamed_samples), (3, 1));
    Ok(())
}

/// The labels may begin again only after the end of the series before, so that one has ended.
#[test]
fn series_whose_end_is_lost_does_not_come_back() -> Result<(), Error> {
    let disk = Disk::new();
    let db = open(&disk, &options(Durability::Commit))?;
    db.append(&labels(1), Sample::new(10, 1.0))?;
    db.delete(&[], i64::MIN, i64::MAX)?;
    db.append(&labels(1), Sample::new(20, 1.0))?;
    drop(db);
    let name = segments(&disk).remove(0);
    let second = frames(&disk.bytes(&name)).remove(1);
    flip(&disk, &name, second.end - 1);
    let (_, db) = repaired(&disk)?;
    assert_eq!(times(&db, 1), [20]);
    Ok(())
}

/// What is left of the series is deleted, but the log goes on with it.
#[test]
fn series_continues_after_deletion_of_all_that_is_intact() -> Result<(), Error> {
    let disk = Disk::new();
    let db = open(&disk, &options(Durability::Commit))?;
    for time in [10, 20] {
        db.append(&labels(1), Sample::new(time, 1.0))?;
    }
    db.delete(&[], 0, 15)?;
    db.append(&labels(1), Sample::new(30, 1.0))?;
    drop(db);
    let name = segments(&disk).remove(0);
    let second = frames(&disk.bytes(&name)).remove(1);
    flip(&disk, &name, second.end - 1);
    let (_, db) = repaired(&disk)?;
    assert_eq!(times(&db, 1), [30]);
    Ok(())
}

#[test]
fn missing_segment_and_damaged_snapshot_cost_only_themselves() -> Result<(), Error> {
    let disk = Disk::new();
    let mut options = options(Durability::Commit);
    options.segment_bytes = 200;
    let db = open(&disk, &options)?;
    db.append(&labels(1), Sample::new(0, 1.0))?;
    db.write_snapshot()?;
    for time in 1..40 {
        db.append(&labels(2), Sample::new(time, 1.0))?;
    }
    drop(db);
    let names = segments(&disk);
    assert!(names.len() > 4, "{names:?}");
    let missing = &names[names.len() / 2];
    tsdb::storage::Storage::remove(&disk, missing).expect("the file exists");
    let (report, db) = repaired(&disk)?;
    assert!(report.damage.iter().all(|part| part.file == *missing));
    assert_eq!(times(&db, 1), [0]);
    assert!(times(&db, 2).len() > 20);
    assert_eq!((times(&db, 2)[0], times(&db, 2).last()), (1, Some(&39)));
    drop(db);

    let snapshot = disk
        .names()
        .into_iter()
        .find(|name| name.starts_with("snapshot-"));
    let snapshot = snapshot.expect("a repair ends with a snapshot");
    let first = frames(&disk.bytes(&snapshot)).remove(0);
    flip(&disk, &snapshot, first.end - 1);
    let (report, _) = repaired(&disk)?;
    assert_eq!(report.damage.len(), 1);
    assert!(report.gaps.is_empty(), "{:?}", report.gaps);
    Ok(())
}

/// After any flipped bit, a repair invents nothing: each sample that is left was written.
#[test]
fn any_flipped_bit_of_closed_log_can_be_repaired() -> Result<(), Error> {
    let disk = Disk::new();
    let db = open(&disk, &options(Durability::Commit))?;
    let mut load = Load::new(12, 3);
    let mut ever = Dump::new();
    for step in 0..12 {
        db.append(&labels(step % 3), Sample::new(step as i64, 0.25))?;
        load.step(&db);
        for (labels, samples) in dump(&db) {
            ever.entry(labels).or_default().extend(samples);
        }
    }
    drop(db);
    let name = segments(&disk).remove(0);
    let bytes = disk.bytes(&name);
    for bit in (0..bytes.len() * 8).step_by(stride(7)) {
        let damaged = disk.copy();
        flip(&damaged, &name, bit / 8);
        if open(&damaged.copy(), &options(Durability::Commit)).is_ok() {
            continue;
        }
        let (report, db) = repaired(&damaged)?;
        assert!(!report.damage.is_empty(), "bit {bit}");
        for (labels, samples) in dump(&db) {
            let known = &ever[&labels];
            assert!(samples.iter().all(|s| known.contains(s)), "bit {bit}");
        }
    }
    Ok(())
}

/// A full disk, or a crash at any moment: the files can be repaired again.
#[test]
fn interrupted_repair_can_be_repeated() -> Result<(), Error> {
    let (disk, name) = written(&[(1, 10), (1, 20), (1, 30)])?;
    let second = frames(&disk.bytes(&name)).remove(1);
    flip(&disk, &name, second.end - 1);
    disk.keep_history();
    Db::repair_files(disk.clone())?;
    for state in disk.history() {
        Db::repair_files(state.clone())?;
        assert_eq!(
            times(&open(&state, &options(Durability::Commit))?, 1),
            [10, 30]
        );
    }
    Ok(())
}
