//! Chooses the folder for a server's data.

use std::{
    env, fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::account::Account;
use crate::Durability;

/// The temporary folder in which to create a server's folder. `account` may enter it, and may
/// create and remove folders in it. A durable server gets a folder on disk rather than in memory,
/// if the machine has one.
pub(crate) fn for_data(durability: Durability, account: Account) -> io::Result<PathBuf> {
    let mut places: Vec<PathBuf> = [env::temp_dir(), "/tmp".into(), "/var/tmp".into()]
        .into_iter()
        .filter_map(|place| fs::canonicalize(place).ok())
        .filter(|place| is_enterable(place, account) && is_writable(place, account))
        .collect();
    if durability == Durability::Durable {
        // A stable sort, so that `TMPDIR` stays first among the folders on disk.
        places.sort_by_key(|place| is_in_memory(place));
    }
    let none = "the server's user may write to no temporary folder; set TMPDIR";
    places
        .into_iter()
        .next()
        .ok_or_else(|| io::Error::other(none))
}

/// Whether `account` may enter the folder. The caller's own account is assumed to be allowed. For
/// another user, the folder and all folders above it must be open to everyone. A folder that does
/// not exist yet counts as open.
pub(crate) fn is_enterable(folder: &Path, account: Account) -> bool {
    let open_to_all = |path: &Path| match fs::metadata(path) {
        Ok(about) => about.permissions().mode() & 0o001 != 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    !account.is_another_user() || folder.ancestors().all(open_to_all)
}

/// Whether `account` may create and remove files in the folder. The watchdog also runs as this
/// account.
fn is_writable(folder: &Path, account: Account) -> bool {
    let open_to_all = |about: fs::Metadata| about.permissions().mode() & 0o002 != 0;
    !account.is_another_user() || fs::metadata(folder).is_ok_and(open_to_all)
}

/// Whether the folder is in memory, where fsync is free and makes nothing durable.
#[cfg(target_os = "linux")]
pub(crate) fn is_in_memory(folder: &Path) -> bool {
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    rustix::fs::statfs(folder).is_ok_and(|about| about.f_type as u64 == TMPFS_MAGIC)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_in_memory(_folder: &Path) -> bool {
    false
}
