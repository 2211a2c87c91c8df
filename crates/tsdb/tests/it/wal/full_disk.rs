use std::time::Duration;

use tsdb::{Batch, Db, Durability, Error, Sample};

use crate::support::{Disk, Dump, Survivors, dump, labels, open, options};

fn count(dump: &Dump) -> i64 {
    dump.values().map(Vec::len).sum::<usize>() as i64
}

#[test]
fn full_disk_refuses_writes_until_space_returns() -> Result<(), Error> {
    for mode in [
        Durability::Unsynced,
        Durability::Periodic(Duration::from_millis(1)),
        Durability::WriteThrough { sync_every: None },
        Durability::WriteThrough {
            sync_every: Some(Duration::from_millis(1)),
        },
        Durability::Commit,
    ] {
        let waits = matches!(mode, Durability::WriteThrough { .. } | Durability::Commit);
        let disk = Disk::new();
        let options = options(mode);
        let db = open(&disk, &options)?;
        let append = |time| db.append(&labels(1), Sample::new(time, time as f64));
        append(0)?;
        db.sync()?;
        disk.set_space(Some(10));

        // The write is applied in memory. Only a mode whose calls wait for the log returns an error.
        match append(1) {
            Ok(()) => assert!(!waits),
            Err(Error::NotDurable(failure)) => {
                assert!(waits);
                assert!(failure.is_full());
                assert!(
                    !Error::NotDurable(failure).is_transient(),
                    "the log retries"
                );
            }
            other => panic!("{other:?}"),
        }
        let synced = db.sync();
        assert!(matches!(synced, Err(Error::DiskFull(_))), "{synced:?}");
        for time in 2..5 {
            let refused = append(time);
            assert!(matches!(refused, Err(Error::DiskFull(_))), "{refused:?}");
            assert!(refused.is_err_and(|error| error.is_transient()));
        }
        assert_eq!(count(&dump(&db)), 2, "only accepted writes are present");

        disk.set_space(None);
        until_accepted(&db);
        db.sync()?;
        let crashed = open(&disk.after_crash(&Survivors::None), &options)?;
        assert_eq!(count(&dump(&crashed)), 3);
        assert!(dump(&crashed) == dump(&db), "{mode:?}");
    }
    Ok(())
}

/// Retries until the log has noticed by itself that the disk works again.
fn until_accepted(db: &Db) {
    while let Err(error) = db.append(&labels(1), Sample::new(9, 9.0)) {
        let expected = matches!(error, Error::DiskFull(_) | Error::Storage(_));
        assert!(expected, "{error:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Writes go on while a background sync runs. If it fails, all that no sync has confirmed is written
/// again.
#[test]
fn failed_background_sync_neither_loses_nor_duplicates() -> Result<(), Error> {
    let disk = Disk::new();
    let options = options(Durability::WriteThrough {
        sync_every: Some(Duration::from_millis(1)),
    });
    let db = open(&disk, &options)?;
    disk.hold_syncs(true);
    for time in 0..50 {
        db.append(&labels(1), Sample::new(time, 1.0))?;
        std::thread::sleep(Duration::from_millis(1));
    }
    disk.fail_syncs(true);
    disk.hold_syncs(false);
    let failed = loop {
        match db.append(&labels(1), Sample::new(50, 1.0)) {
            Ok(()) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => break error,
        }
    };
    let expected = matches!(failed, Error::Storage(_) | Error::NotDurable(_));
    assert!(expected, "{failed:?}");
    disk.fail_syncs(false);
    until_accepted(&db);
    db.sync()?;
    for survivors in [Survivors::None, Survivors::All] {
        let crashed = open(&disk.after_crash(&survivors), &options)?;
        assert!(dump(&crashed) == dump(&db));
    }
    Ok(())
}

/// A failed sync may have dropped the data, so the log writes it again.
#[test]
fn failed_sync_neither_loses_nor_duplicates() -> Result<(), Error> {
    let disk = Disk::new();
    let options = options(Durability::Commit);
    let db = open(&disk, &options)?;
    for round in 0..3 {
        db.append(&labels(1), Sample::new(round, 1.0))?;
        disk.fail_syncs(true);
        let error = db.append(&labels(1), Sample::new(10 + round, 1.0));
        assert!(matches!(error, Err(Error::NotDurable(_))), "{error:?}");
        let error = db.append(&labels(1), Sample::new(20 + round, 1.0));
        assert!(matches!(error, Err(Error::Storage(_))), "{error:?}");
        disk.fail_syncs(false);
        db.sync()?;
    }
    for survivors in [Survivors::None, Survivors::All] {
        let crashed = open(&disk.after_crash(&survivors), &options)?;
        assert!(dump(&crashed) == dump(&db));
    }
    assert_eq!(count(&dump(&db)), 6);
    Ok(())
}

#[test]
fn failed_close_can_be_repeated() -> Result<(), Error> {
    let disk = Disk::new();
    let options = options(Durability::Periodic(Duration::from_secs(3600)));
    let db = open(&disk, &options)?;
    db.append(&labels(1), Sample::new(1, 1.0))?;
    disk.set_space(Some(3));
    assert!(matches!(db.close(), Err(Error::DiskFull(_))));
    disk.set_space(None);
    db.close()?;
    let reopened = open(&disk.after_crash(&Survivors::None), &options)?;
    assert!(dump(&reopened) == dump(&db));
    assert!(reopened.recovery().is_some_and(|recovery| recovery.closed));
    Ok(())
}

/// The repeated close must not write a second *closed* entry: nothing may follow the first one. The
/// database once failed to open because of it.
#[test]
fn close_that_fails_at_last_frame_can_be_repeated() -> Result<(), Error> {
    for mode in [
        Durability::Unsynced,
        Durability::Periodic(Duration::from_secs(3600)),
        Durability::Commit,
    ] {
        for space in [None, Some(3)] {
            let disk = Disk::new();
            let options = options(mode);
            let db = open(&disk, &options)?;
            db.append(&labels(1), Sample::new(1, 1.0))?;
            db.sync()?;
            disk.set_space(space);
            disk.fail_syncs(space.is_none());
            assert!(db.close().is_err());
            disk.set_space(None);
            disk.fail_syncs(false);
            db.close()?;
            let reopened = open(&disk.after_crash(&Survivors::None), &options)?;
            assert!(dump(&reopened) == dump(&db), "{mode:?}");
            assert!(reopened.recovery().is_some_and(|recovery| recovery.closed));
        }
    }
    Ok(())
}

/// If a segment was never synced, a failed sync may have lost all of it. So the whole segment must
/// be written again, not only the last write.
#[test]
fn failed_sync_of_unsynced_log_loses_nothing() -> Result<(), Error> {
    for by_snapshot in [false, true] {
        let disk = Disk::new();
        let options = options(Durability::Unsynced);
        let db = open(&disk, &options)?;
        let mut series = db.series(&labels(1))?;
        let mut time = 0;
        // Fill the buffer, so that the log is written before its interval ends.
        while disk.bytes("log-0000000000000001").len() == 32 {
            let sample = |time| Sample::new(time, (time as f64).sqrt());
            series.append_batch(&(time..time + 1_000).map(sample).collect::<Vec<_>>())?;
            time += 1_000;
        }
        disk.fail_syncs(true);
        series.append(Sample::new(time, 1.0))?;
        let failed = match by_snapshot {
            false => db.sync(),
            true => db.write_snapshot(),
        };
        assert!(matches!(failed, Err(Error::Storage(_))), "{failed:?}");
        disk.fail_syncs(false);
        until_accepted(&db);
        db.sync()?;
        let expected = dump(&db);
        for survivors in [Survivors::None, Survivors::All] {
            let crashed = open(&disk.after_crash(&survivors), &options)?;
            assert!(dump(&crashed) == expected);
        }
        db.close()?;
        let reopened = open(&disk.after_crash(&Survivors::None), &options)?;
        assert!(dump(&reopened) == expected);
        assert!(reopened.recovery().is_some_and(|recovery| recovery.closed));
    }
    Ok(())
}

/// A point that breaks a rule reports that error, not the failure of the disk.
#[test]
fn refused_point_reports_its_own_error_on_failing_disk() -> Result<(), Error> {
    let disk = Disk::new();
    let mut options = options(Durability::Commit);
    options.db.out_of_order_window_ms = Some(0);
    let db = open(&disk, &options)?;
    db.append(&labels(1), Sample::new(10, 1.0))?;
    disk.fail_syncs(true);
    let mut batch = Batch::new();
    for (host, time) in [(1, 11), (2, 5), (1, 5), (3, 5)] {
        batch.push(&labels(host), Sample::new(time, 1.0));
    }
    let report = db.write(&mut batch);
    assert_eq!(report.written, 0);
    let mut refused = report.refused;
    refused.sort_by_key(|refused| refused.index);
    let errors: Vec<&Error> = refused.iter().map(|refused| &refused.error).collect();
    assert!(
        matches!(
            errors[..],
            [
                Error::Withheld,
                Error::NotDurable(_),
                Error::OutOfOrder { .. },
                Error::NotDurable(_),
            ]
        ),
        "{errors:?}"
    );
    assert_eq!(count(&dump(&db)), 3);
    Ok(())
}
