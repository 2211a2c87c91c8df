use std::time::Duration;

use tsdb::{Db, Durability, Error, Sample};

use crate::support::{Disk, Dump, Survivors, dump, labels, open, options};

fn count(dump: &Dump) -> i64 {
    dump.values().map(Vec::len).sum::<usize>() as i64
}

#[test]
fn a_full_disk_refuses_writes_leaves_reads_and_recovers_by_itself() -> Result<(), Error> {
    for mode in [
        Durability::Unsynced,
        Durability::Periodic(Duration::from_millis(1)),
        Durability::Commit,
    ] {
        let disk = Disk::new();
        let options = options(mode);
        let db = open(&disk, &options)?;
        let append = |at| db.append(&labels(1), Sample::new(at, at as f64));
        append(0)?;
        db.sync()?;
        disk.set_space(Some(10));

        // The write that is under way is applied; in one mode its writer waits for it.
        match append(1) {
            Ok(()) => assert_ne!(mode, Durability::Commit),
            Err(Error::NotDurable(failure)) => {
                assert_eq!(mode, Durability::Commit);
                assert!(failure.is_full());
            }
            other => panic!("{other:?}"),
        }
        let synced = db.sync();
        assert!(matches!(synced, Err(Error::DiskFull(_))), "{synced:?}");
        for at in 2..5 {
            let refused = append(at);
            assert!(matches!(refused, Err(Error::DiskFull(_))), "{refused:?}");
        }
        assert_eq!(
            count(&dump(&db)),
            2,
            "refused writes are not there, the others are"
        );

        disk.set_space(None);
        until_accepted(&db);
        db.sync()?;
        let crashed = open(&disk.after_crash(&Survivors::None), &options)?;
        assert_eq!(count(&dump(&crashed)), 3);
        assert!(dump(&crashed) == dump(&db), "{mode:?}");
    }
    Ok(())
}

/// The log finds by itself that there is room.
fn until_accepted(db: &Db) {
    while let Err(error) = db.append(&labels(1), Sample::new(9, 9.0)) {
        assert!(matches!(error, Error::DiskFull(_)), "{error:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A failed sync may have dropped what it should have made durable, so it is written again.
#[test]
fn a_failed_sync_loses_and_doubles_nothing() -> Result<(), Error> {
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
fn a_close_that_fails_can_be_repeated() -> Result<(), Error> {
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
