//! The temporary folder of one server: its data, log, socket and lock.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::{self, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use super::{account::Account, table, watchdog::Watchdog};

const PREFIX: &str = "local-postgres-";
const LOCK: &str = "lock";

/// A temporary folder. This process owns it as long as it holds the lock.
#[derive(Debug)]
pub(crate) struct ServerFolder {
    path: PathBuf,
    #[expect(dead_code, reason = "other processes check the lock")]
    lock: File,
}

impl ServerFolder {
    /// Creates a folder in `place` that only `account` may enter. The watchdog does the work: it
    /// creates the folder, and removes it after this process has ended. So no folder is left
    /// behind, even if this process dies right after its creation.
    pub(crate) fn create(place: &Path, account: Account) -> io::Result<(Self, Watchdog)> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = place.join(format!("{PREFIX}{}-{count}", process::id()));
            if path.exists() {
                continue;
            }
            let script = include_str!("watchdog.sh");
            let shell = account.command("sh");
            let mut watchdog = Watchdog::start(shell, script, path.as_os_str(), Stdio::piped())?;
            if !watchdog.answers()? {
                let none = format!("{} could not be created", path.display());
                return Err(io::Error::other(none));
            }
            let lock = File::create(path.join(LOCK))?;
            lock.lock()?;
            // A sweep by another process may have removed the folder before this process locked it.
            if path.exists() {
                return Ok((Self { path, lock }, watchdog));
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

    /// Whether PostgreSQL can open a socket in this folder. The length of a socket's path is
    /// limited.
    pub(crate) fn holds_socket(&self) -> bool {
        const LONGEST_ADDRESS: usize = 103;
        let name = "/.s.PGSQL.65535";
        self.path.as_os_str().len() + name.len() <= LONGEST_ADDRESS
    }
}

/// Removes the folders in `place` that an ended process left behind, for example after a power cut.
/// Ends a server that still runs in such a folder first. A folder that cannot be removed is left
/// for the next sweep.
pub(crate) fn sweep(place: &Path, account: Account) {
    let folders = fs::read_dir(place)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    for folder in folders.filter(|path| is_abandoned_by(path, account)) {
        // Without a lock file, the folder is still being created.
        let Ok(lock) = File::open(folder.join(LOCK)) else {
            continue;
        };
        // The operating system releases a lock when its process ends.
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
