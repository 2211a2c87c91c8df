use tsdb::storage::Folder;
use tsdb::{Db, Durability, Error, OpenOptions, Sample};

use crate::support::{Disk, labels, open, options, segments};

/// Sets the version in a file header. The header's checksum covers all of its bytes except the
/// checksum.
fn with_version(mut bytes: Vec<u8>, version: u32) -> Vec<u8> {
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..32]);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

#[test]
fn newer_format_is_refused() -> Result<(), Error> {
    let disk = Disk::new();
    let db = open(&disk, &options(Durability::Commit))?;
    db.append(&labels(1), Sample::new(1, 1.0))?;
    db.write_snapshot()?;
    drop(db);
    let snapshot = disk
        .names()
        .into_iter()
        .find(|name| name.starts_with("snapshot-"));
    for name in [segments(&disk).remove(0), snapshot.expect("a snapshot")] {
        let disk = disk.copy();
        disk.put(&name, with_version(disk.bytes(&name), 2));
        match open(&disk, &options(Durability::Commit)) {
            Err(Error::FormatTooNew {
                file,
                version: 2,
                supported: 1,
            }) => assert_eq!(file, name),
            other => panic!("{other:?}"),
        }
    }
    Ok(())
}

#[test]
fn folder_opens_one_database_at_a_time() -> Result<(), Error> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a").join("b");
    let db = Db::open(&path, OpenOptions::default())?;
    match Db::open(&path, OpenOptions::default()) {
        Err(Error::FolderInUse { path: in_use }) => assert_eq!(in_use, path),
        other => panic!("{other:?}"),
    }
    drop(db);
    let folder = Folder::lock(&path)?;
    assert_eq!(folder.path(), path);
    drop(folder);
    Db::open(&path, OpenOptions::default())?;
    Ok(())
}

/// Between fork and exec a child process has all open files, including the lock.
#[cfg(unix)]
#[test]
fn folder_lock_is_not_inherited_by_child_processes() -> Result<(), Error> {
    use std::os::unix::{fs::MetadataExt as _, process::CommandExt as _};
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};

    let folder = tempfile::tempdir().expect("a folder");
    let user = folder
        .path()
        .metadata()
        .expect("metadata of the folder")
        .uid();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                // Setting a user, even the same, forces a fork and an exec.
                let started = Command::new("true").uid(user).status();
                assert!(started.expect("a process").success());
            }
        });
        let free = (0..2_000).try_for_each(|_| Folder::lock(folder.path()).map(drop));
        ended.store(true, Ordering::Relaxed);
        free
    })
}

/// Only the unfinished snapshot is removed.
#[test]
fn opening_keeps_foreign_files_and_removes_unfinished_snapshot() -> Result<(), Error> {
    let disk = Disk::new();
    disk.put("README", b"not ours".to_vec());
    disk.put("snapshot-0000000000000009.tmp", b"half".to_vec());
    drop(open(&disk, &options(Durability::Commit))?);
    let names = disk.names();
    assert_eq!(names, ["README", "log-0000000000000001"]);
    Ok(())
}
