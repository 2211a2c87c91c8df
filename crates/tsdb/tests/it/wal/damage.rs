//! Damage to any byte is detected.

use conformance_suite::stride;
use tsdb::{Durability, Error, Sample};

use crate::support::{Disk, Dump, Load, dump, labels, open, options, segments};

/// The distance between flipped bits. It has no factor in common with 8, so that every bit of a
/// byte is flipped somewhere.
const BIT_STRIDE: usize = 5;

/// A log of one segment with every kind of entry, and the state after each write.
fn written(closed: bool) -> Result<(Disk, String, Vec<Dump>), Error> {
    let disk = Disk::new();
    let db = open(&disk, &options(Durability::Commit))?;
    let mut load = Load::new(11, 3);
    let mut states = vec![Dump::new()];
    for step in 0..12 {
        db.append(&labels(step % 3), Sample::new(step as i64, 0.25))?;
        states.push(dump(&db));
        load.step(&db);
        states.push(dump(&db));
    }
    let image = match closed {
        true => {
            drop(db);
            disk
        }
        false => disk.copy(),
    };
    let segment = segments(&image).remove(0);
    Ok((image, segment, states))
}

fn open_with(disk: &Disk, name: &str, bytes: Vec<u8>) -> Result<tsdb::Db, Error> {
    let disk = disk.copy();
    disk.put(name, bytes);
    open(&disk, &options(Durability::Commit))
}

#[test]
fn truncated_log_recovers_earlier_state() -> Result<(), Error> {
    for closed in [false, true] {
        let (disk, name, states) = written(closed)?;
        let bytes = disk.bytes(&name);
        let mut state = 0;
        for length in (0..bytes.len()).step_by(stride(3)) {
            let db = open_with(&disk, &name, bytes[..length].to_vec())?;
            let found = dump(&db);
            let later = states[state..].iter().position(|state| *state == found);
            state += later.unwrap_or_else(|| panic!("cut at {length}: no such state"));
            let recovery = db.recovery().expect("there are files");
            assert!(!recovery.closed);
            if let Some(torn) = &recovery.torn {
                assert_eq!(torn.offset + torn.bytes, length as u64);
            }
        }
        assert!(
            state + 1 >= states.len() - 1,
            "a longer log is a later state"
        );
    }
    Ok(())
}

/// A closed log proves that everything before its last frame was durable.
#[test]
fn flipped_bit_in_closed_log_is_detected() -> Result<(), Error> {
    let (disk, name, states) = written(true)?;
    let bytes = disk.bytes(&name);
    let last_frame = bytes.len() - 25;
    for bit in (0..bytes.len() * 8).step_by(stride(BIT_STRIDE)) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match open_with(&disk, &name, flipped) {
            Err(Error::Corrupt { file, .. }) => assert_eq!(file, name),
            Ok(db) if bit / 8 >= last_frame => {
                assert!(Some(&dump(&db)) == states.last());
                let torn = db.recovery().and_then(|recovery| recovery.torn.as_ref());
                assert_eq!(torn.map(|torn| torn.offset), Some(last_frame as u64));
            }
            other => panic!("bit {bit}: {other:?}"),
        }
    }
    Ok(())
}

/// After a crash, a flipped bit may look like a torn end and cost the last frame. The frames before
/// it were durable, so damage to them must be reported.
#[test]
fn flipped_bit_in_open_log_is_corrupt_or_torn_end() -> Result<(), Error> {
    let (disk, name, states) = written(false)?;
    let bytes = disk.bytes(&name);
    let mut ends = 0;
    for bit in (0..bytes.len() * 8).step_by(stride(BIT_STRIDE)) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match open_with(&disk, &name, flipped) {
            Err(Error::Corrupt { .. }) => assert_eq!(ends, 0, "an end before bit {bit}"),
            Ok(db) => {
                ends += 1;
                assert!(states.contains(&dump(&db)));
                assert!(
                    db.recovery()
                        .is_some_and(|recovery| recovery.torn.is_some())
                );
            }
            other => panic!("bit {bit}: {other:?}"),
        }
    }
    assert!(ends > 0, "a damaged last frame looks like a torn one");
    Ok(())
}

/// Segments before the last have no torn end: the next segment records where they end.
#[test]
fn damaged_or_missing_earlier_segment_is_corrupt() -> Result<(), Error> {
    let disk = Disk::new();
    let mut options = options(Durability::Commit);
    options.segment_bytes = 2_000;
    Load::new(5, 3).steps(&open(&disk, &options)?, 60);
    let names = segments(&disk);
    assert!(names.len() > 3, "{names:?}");
    for name in &names[..names.len() - 1] {
        let bytes = disk.bytes(name);
        for length in (0..bytes.len()).step_by(7) {
            let opened = open_with(&disk, name, bytes[..length].to_vec());
            assert!(
                matches!(opened, Err(Error::Corrupt { .. })),
                "{name}, {length} bytes"
            );
        }
        for byte in (0..bytes.len()).step_by(3) {
            let mut changed = bytes.clone();
            changed[byte] ^= 0x10;
            let opened = open_with(&disk, name, changed);
            assert!(
                matches!(opened, Err(Error::Corrupt { .. })),
                "{name}, byte {byte}"
            );
        }
        let without = Disk::new();
        for other in names.iter().filter(|other| *other != name) {
            without.put(other, disk.bytes(other));
        }
        let opened = open(&without, &options);
        assert!(matches!(opened, Err(Error::Corrupt { file, .. }) if file == *name));
    }
    Ok(())
}

/// Both files are intact, but each has the name of the other.
#[test]
fn swapped_segments_are_corrupt() -> Result<(), Error> {
    let disk = Disk::new();
    let mut options = options(Durability::Commit);
    options.segment_bytes = 2_000;
    Load::new(5, 3).steps(&open(&disk, &options)?, 60);
    let names = segments(&disk);
    let (one, two) = (disk.bytes(&names[0]), disk.bytes(&names[1]));
    disk.put(&names[0], two);
    disk.put(&names[1], one);
    assert!(matches!(open(&disk, &options), Err(Error::Corrupt { .. })));
    Ok(())
}
