use std::time::Duration;

use rand::Rng;
use tsdb::{Durability, Error, Sample};

use crate::support::{Disk, Dump, Load, Survivors, dump, labels, open, options, segments};

const NEVER: Duration = Duration::from_secs(3600);

/// Crashes that leave none, all or some of the unsynced bytes.
fn crashes() -> impl Iterator<Item = Survivors> {
    let seeds = (0..20).map(|_| {
        let seed = rand::rng().random();
        println!("seed {seed}");
        Survivors::Some(seed)
    });
    [Survivors::None, Survivors::All].into_iter().chain(seeds)
}

#[test]
fn commit_mode_keeps_every_returned_write() -> Result<(), Error> {
    let disk = Disk::new();
    let mut options = options(Durability::Commit);
    options.segment_bytes = 10_000;
    let db = open(&disk, &options)?;
    let mut load = Load::new(7, 5);
    for _ in 0..10 {
        load.steps(&db, 20);
        let expected = dump(&db);
        for survivors in crashes() {
            let crashed = open(&disk.after_crash(&survivors), &options)?;
            assert!(dump(&crashed) == expected);
        }
    }
    Ok(())
}

#[test]
fn periodic_mode_keeps_writes_before_last_sync() -> Result<(), Error> {
    let disk = Disk::new();
    let options = options(Durability::Periodic(NEVER));
    let db = open(&disk, &options)?;
    let mut load = Load::new(8, 5);
    for _ in 0..5 {
        load.steps(&db, 20);
        db.sync()?;
        let expected = dump(&db);
        load.steps(&db, 5);
        for survivors in crashes() {
            let crashed = open(&disk.after_crash(&survivors), &options)?;
            assert!(dump(&crashed) == expected);
        }
    }
    Ok(())
}

#[test]
fn periodic_mode_syncs_in_background() -> Result<(), Error> {
    keeps_unsynced_soon(Durability::Periodic(Duration::from_millis(1)))
}

/// Waits until a power failure would keep a write.
fn keeps_unsynced_soon(durability: Durability) -> Result<(), Error> {
    let disk = Disk::new();
    let options = options(durability);
    let db = open(&disk, &options)?;
    db.append(&labels(1), Sample::new(1, 1.0))?;
    loop {
        let crashed = open(&disk.after_crash(&Survivors::None), &options)?;
        if dump(&crashed) == dump(&db) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Nothing of a killed process is lost that a call has returned for: the operating system has it.
#[test]
fn write_through_mode_keeps_every_returned_write_of_a_killed_process() -> Result<(), Error> {
    let disk = Disk::new();
    let mut options = options(Durability::WriteThrough { sync_every: None });
    options.segment_bytes = 10_000;
    let db = open(&disk, &options)?;
    let before = disk.syncs();
    let mut load = Load::new(9, 5);
    for _ in 0..20 {
        load.steps(&db, 5);
        let killed = open(&disk.after_crash(&Survivors::All), &options)?;
        assert!(dump(&killed) == dump(&db));
    }
    let files = segments(&disk).len();
    assert!(disk.syncs() - before <= 2 * files, "only a new file syncs");
    Ok(())
}

#[test]
fn write_through_mode_syncs_in_background() -> Result<(), Error> {
    keeps_unsynced_soon(Durability::WriteThrough {
        sync_every: Some(Duration::from_millis(1)),
    })
}

/// Without a sync, a crash keeps the writes up to some point, in their order, and none after it.
#[test]
fn unsynced_mode_keeps_prefix() -> Result<(), Error> {
    let disk = Disk::new();
    let options = options(Durability::Unsynced);
    let db = open(&disk, &options)?;
    let mut series = db.series(&labels(1))?;
    // Enough to fill the buffer, so that the log is written before the interval ends.
    for batch in 0_i64.. {
        let numbers = batch * 1_000..(batch + 1) * 1_000;
        let sample = |i| Sample::new(i, f64::from_bits(0x3ff1_2345_6789_abcd + i as u64));
        series.append_batch(&numbers.map(sample).collect::<Vec<_>>())?;
        if batch >= 100 && disk.bytes("log-0000000000000001").len() > 1_000 {
            break;
        }
    }
    let before = dump(&db);
    let syncs = disk.syncs();
    for survivors in crashes() {
        let crashed = open(&disk.after_crash(&survivors), &options)?;
        assert!(is_beginning(&dump(&crashed), &before));
    }
    assert_eq!(disk.syncs(), syncs, "a copy counts its own syncs");
    drop((series, db));
    let crashed = open(&disk.after_crash(&Survivors::None), &options)?;
    assert!(dump(&crashed) == before, "a clean close loses nothing");
    Ok(())
}

/// Each sync once ended the segment, even a short one.
#[test]
fn sync_of_unsynced_log_continues_same_segment() -> Result<(), Error> {
    let disk = Disk::new();
    let options = options(Durability::Unsynced);
    let db = open(&disk, &options)?;
    for time in 0..20 {
        db.append(&labels(1), Sample::new(time, 1.0))?;
        db.sync()?;
        let crashed = open(&disk.after_crash(&Survivors::None), &options)?;
        assert!(dump(&crashed) == dump(&db));
    }
    assert_eq!(segments(&disk).len(), 1);
    Ok(())
}

fn is_beginning(part: &Dump, whole: &Dump) -> bool {
    part.iter()
        .all(|(labels, samples)| whole[labels].starts_with(samples))
}

/// A database that was reopened after a crash can crash again.
#[test]
fn repeated_crashes_keep_committed_writes() -> Result<(), Error> {
    let seed: u64 = rand::rng().random();
    println!("seed {seed}");
    let mut options = options(Durability::Commit);
    options.segment_bytes = 5_000;
    let mut load = Load::new(seed, 5);
    let mut disk = Disk::new();
    let mut expected = Dump::new();
    for crash in 0..30 {
        let db = open(&disk, &options)?;
        assert!(dump(&db) == expected, "crash {crash}");
        load.steps(&db, 10);
        expected = dump(&db);
        disk = disk.after_crash(&Survivors::Some(seed.wrapping_add(crash)));
    }
    Ok(())
}

#[test]
fn concurrent_commits_share_syncs() -> Result<(), Error> {
    let disk = Disk::new();
    let options = options(Durability::Commit);
    let db = open(&disk, &options)?;
    let before = disk.syncs();
    std::thread::scope(|scope| {
        for host in 0..8 {
            let db = &db;
            scope.spawn(move || {
                let mut series = db.series(&labels(host)).expect("a series");
                for time in 0..200 {
                    series.append(Sample::new(time, 1.0)).expect("a write");
                }
            });
        }
    });
    let syncs = disk.syncs() - before;
    assert!(syncs <= 1_600, "{syncs} syncs for 1,600 writes");
    let crashed = open(&disk.after_crash(&Survivors::None), &options)?;
    assert!(dump(&crashed) == dump(&db));
    Ok(())
}
