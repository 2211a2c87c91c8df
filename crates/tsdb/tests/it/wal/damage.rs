//! Damaged bytes are found, whatever they are.

use tsdb::{Durability, Error, Sample};

use crate::support::{Disk, Dump, Load, dump, labels, open, options, segments};

/// A log of one segment that holds a bit of everything, and what is there after each write.
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
fn a_log_cut_anywhere_is_a_state_that_was() -> Result<(), Error> {
    for closed in [false, true] {
        let (disk, name, states) = written(closed)?;
        let bytes = disk.bytes(&name);
        let mut at = 0;
        for length in 0..bytes.len() {
            let db = open_with(&disk, &name, bytes[..length].to_vec())?;
            let found = dump(&db);
            let later = states[at..].iter().position(|state| *state == found);
            at += later.unwrap_or_else(|| panic!("cut at {length}: no such state"));
            let recovery = db.recovery().expect("there are files");
            assert!(!recovery.closed);
            if let Some(torn) = &recovery.torn {
                assert_eq!(torn.offset + torn.bytes, length as u64);
            }
        }
        assert!(at + 1 >= states.len() - 1, "a longer log is a later state");
    }
    Ok(())
}

/// A closed log proves that all before its last frame was durable.
#[test]
fn each_flipped_bit_of_a_closed_log_is_an_error() -> Result<(), Error> {
    let (disk, name, states) = written(true)?;
    let bytes = disk.bytes(&name);
    let last_frame = bytes.len() - 25;
    for bit in 0..bytes.len() * 8 {
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

/// A log that a crash has ended may only lose its last frame to a flipped bit: what stands before
/// was durable.
#[test]
fn each_flipped_bit_of_an_open_log_is_an_error_or_its_end() -> Result<(), Error> {
    let (disk, name, states) = written(false)?;
    let bytes = disk.bytes(&name);
    let mut ends = 0;
    for bit in 0..bytes.len() * 8 {
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
    assert!(ends > 0, "the last frame can't be told from a torn one");
    Ok(())
}

/// Segments before the last have no torn end: their successor tells where they end.
#[test]
fn an_earlier_segment_that_is_cut_changed_or_missing_is_an_error() -> Result<(), Error> {
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

/// Two files of one database with their names exchanged are both sound, and in the wrong place.
#[test]
fn exchanged_segments_are_an_error() -> Result<(), Error> {
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
