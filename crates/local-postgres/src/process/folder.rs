//! The temporary folder of one server: its data, log, socket and lock.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::SystemTime,
};

use super::{account::Account, table};

const PREFIX: &str = "local-postgres-";
const LOCK: &str = "lock";

/// A folder that is ours as long as its lock is held.
#[derive(Debug)]
pub(crate) struct ServerFolder {
    path: PathBuf,
    #[expect(dead_code, reason = "held for others to see")]
    lock: File,
}

impl ServerFolder {
    /// A path in `place` that nothing else has: whoever knows it may remove what is there.
    pub(crate) fn fresh_path(place: &Path) -> io::Result<PathBuf> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        // Process ids return, and containers that share a folder have the same ones.
        let moment = now.map_err(io::Error::other)?.subsec_nanos();
        Ok(place.join(format!("{PREFIX}{}-{count}-{moment:x}", process::id())))
    }

    /// Makes the folder, owned by `account` and closed to other users.
    pub(crate) fn create(path: PathBuf, account: Account) -> io::Result<Self> {
        loop {
            DirBuilder::new().mode(0o700).create(&path)?;
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

    /// Whether a socket with a name of PostgreSQL's length fits into the address of a socket.
    pub(crate) fn holds_socket(&self) -> bool {
        const LONGEST_ADDRESS: usize = 103;
        let name = "/.s.PGSQL.65535";
        self.path.as_os_str().len() + name.len() <= LONGEST_ADDRESS
    }
}

/// Removes folders in `place` whose process is gone, as after a power cut, and ends the servers that
/// still run in them. What cannot be removed is left to the next sweep.
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
