//! The temporary folder of one server: its data, log, socket and lock.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use super::{account::Account, table};

const PREFIX: &str = "local-postgres-";
const LOCK: &str = "lock";

/// A folder that is ours as long as its lock is held, by this process or by its watchdog.
#[derive(Debug)]
pub(crate) struct ServerFolder {
    path: PathBuf,
    lock: File,
}

impl ServerFolder {
    /// Makes a folder in `place`, owned by `account` and closed to other users.
    pub(crate) fn create(place: &Path, account: Account) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = place.join(format!("{PREFIX}{}-{count}", process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            let lock = File::create(path.join(LOCK))?;
            lock.lock()?;
            // A sweep may have come between the two lines above and taken the folder away.
            if path.exists() {
                account.give(&path)?;
                return Ok(Self { path, lock });
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// A second handle on the lock: it is released when all of them are closed.
    pub(crate) fn lock_handle(&self) -> io::Result<File> {
        self.lock.try_clone()
    }

    /// Whether a socket with a name of PostgreSQL's length fits into the address of a socket.
    pub(crate) fn holds_socket(&self) -> bool {
        const LONGEST_ADDRESS: usize = 103;
        let name = "/.s.PGSQL.65535";
        self.path.as_os_str().len() + name.len() <= LONGEST_ADDRESS
    }
}

/// Removes folders in `place` whose process and watchdog are both gone, as after a power cut, and
/// ends the servers that still run in them. What cannot be removed is left to the next sweep.
pub(crate) fn sweep(place: &Path, account: Account) {
    let folders = fs::read_dir(place)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    for folder in folders.filter(|path| is_abandoned_by(path, account)) {
        let Ok(lock) = File::open(folder.join(LOCK)) else {
            continue;
        };
        if lock.try_lock().is_ok() {
            table::quit_postmaster_of(&folder.join("data"));
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

fn is_abandoned_by(path: &Path, account: Account) -> bool {
    let named = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let about = fs::symlink_metadata(path);
    named && about.is_ok_and(|about| about.is_dir() && about.uid() == account.uid())
}
