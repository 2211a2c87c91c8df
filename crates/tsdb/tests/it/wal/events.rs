//! Events in the program's log.

use std::thread;
use std::time::Duration;

use store_meter::testing::Log;
use tsdb::{Db, Durability, Error, Sample};

use crate::support::{Disk, Survivors, labels, open, options};

fn append(db: &Db, time: i64) -> Result<(), Error> {
    db.append(&labels(1), Sample::new(time, 1.0))
}

/// The thread of the log may be first to notice that there is space again. Then this thread has no
/// line of it.
#[test]
fn full_disk_is_told_once_and_when_it_works_again() -> Result<(), Error> {
    for round in 0..50 {
        let disk = Disk::new();
        let db = open(&disk, &options(Durability::Commit))?;
        let log = Log::begin();
        append(&db, 0)?;
        disk.set_space(Some(10));
        for time in 1..6 {
            append(&db, time).unwrap_err();
        }
        let parts = ["WARN", "tsdb::wal", "cause="];
        log.assert_one("the log of the series can't be written", &parts);
        disk.set_space(None);
        db.sync()?;
        let again = log.lines(&["the log of the series is written again"]);
        if let [line] = &again[..] {
            assert!(line.contains("INFO") && line.contains("after="), "{line}");
            return Ok(());
        }
        assert!(again.is_empty(), "round {round}: {again:?}");
    }
    panic!("the end of the outage was not told");
}

#[test]
fn torn_end_is_told() -> Result<(), Error> {
    let disk = Disk::new();
    let options = options(Durability::Commit);
    let db = open(&disk, &options)?;
    append(&db, 0)?;
    let crashed = disk.after_crash(&Survivors::All);
    let segment = crashed
        .names()
        .into_iter()
        .find(|name| name.starts_with("log-"));
    let segment = segment.expect("there is a segment");
    let mut bytes = crashed.bytes(&segment);
    bytes.truncate(bytes.len() - 3);
    crashed.put(&segment, bytes);
    let log = Log::begin();
    open(&crashed, &options)?;
    let parts = ["WARN", &segment, "offset=", "bytes="];
    log.assert_one("a crash tore the end of the log", &parts);
    Ok(())
}

#[test]
fn long_snapshot_is_told() -> Result<(), Error> {
    let disk = Disk::new();
    let db = open(&disk, &options(Durability::Unsynced))?;
    append(&db, 0)?;
    let log = Log::begin();
    db.write_snapshot()?;
    assert!(log.lines(&[]).is_empty(), "{:?}", log.lines(&[]));
    append(&db, 1)?;
    disk.hold_renames(true);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(5200));
            disk.hold_renames(false);
        });
        db.write_snapshot()
    })?;
    log.assert_one("a snapshot of the series took long", &["WARN", "took=5."]);
    Ok(())
}
