//! Files that can't be written: an archive, a mounted backup, a file of another user.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

use super::config::{Config, Location};
use super::connection::reader;
use super::error::Failure;
use crate::Error;
use crate::text::{invalid, malformed};

/// How connections open a store's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Access {
    /// For reads and writes.
    #[default]
    Write,
    /// For reads, with the `-wal` and `-shm` beside the file, so they see what other processes write.
    Read,
    /// For reads of the file alone. SQLite takes no locks and does not look for changes.
    Immutable,
}

impl Access {
    pub(super) fn flags(self) -> OpenFlags {
        match self {
            Self::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Self::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Self::Immutable => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        }
    }

    /// The file's name for SQLite.
    pub(super) fn name(self, path: &Path) -> PathBuf {
        match self {
            Self::Write | Self::Read => path.to_owned(),
            Self::Immutable => immutable_uri(path).into(),
        }
    }
}

/// A connection that only reads the store of a configuration, and how it was opened.
pub(super) fn open_to_read(config: &Config) -> Result<(Access, Connection), Error> {
    let Location::File(path) = &config.location else {
        let reason = "a store in memory can't be opened only for reads".to_owned();
        return Err(invalid("read_only")(malformed(reason)));
    };
    let access = for_reads(config, path)?;
    Ok((access, reader(config, path, access)?))
}

/// Finds out how a file can be opened for reads.
///
/// A store in WAL mode has a `-shm` beside it while it is open. Without one, and where none can be made,
/// only a file without unfinished `-wal` can be read, and only as immutable.
pub(super) fn for_reads(config: &Config, path: &Path) -> Result<Access, Error> {
    let failed = match try_read(config, path, Access::Read) {
        Ok(()) => return Ok(Access::Read),
        Err(failed) => failed,
    };
    if !matches!(failed, Failure::Failed(Error::Unavailable { .. })) || !path.is_file() {
        return Err(failed.into());
    }
    if has_content(&beside(path, "-wal")) {
        let reason = "its newest messages are in the -wal file, and reading them needs a -shm file, \
                      which can't be made there: copy the file and its -wal to a folder that can be \
                      written";
        return Err(read_only(path, reason));
    }
    try_read(config, path, Access::Immutable)?;
    Ok(Access::Immutable)
}

fn try_read(config: &Config, path: &Path, access: Access) -> Result<(), Failure> {
    let connection = reader(config, path, access)?;
    Ok(connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?)
}

/// Turns the error of a writer into [`Error::ReadOnlyFile`] if the file's folder takes no new files.
/// SQLite reports the same for a folder that is missing, and if the process has too many open files.
pub(super) fn explain(config: &Config, failed: Error) -> Error {
    match (&config.location, &failed) {
        (Location::File(path), Error::Unavailable { .. }) => match refusal(path) {
            Some(refused) => read_only(path, &format!("its folder takes no new files: {refused}")),
            None => failed,
        },
        _ => failed,
    }
}

/// Fails if SQLite could open the file only for reads.
pub(super) fn require_writable(connection: &Connection, path: &Path) -> Result<(), Error> {
    match connection.is_readonly(rusqlite::MAIN_DB) {
        Ok(false) => Ok(()),
        Ok(true) => Err(read_only(path, "the system allows only reads of the file")),
        Err(failed) => Err(Failure::from(failed).into()),
    }
}

/// Refuses to write with a configuration that is only for reads.
pub(super) fn refuse_read_only(config: &Config) -> Result<(), Error> {
    match &config.location {
        Location::File(path) if config.read_only => {
            Err(read_only(path, "it was opened only for reads"))
        }
        _ => Ok(()),
    }
}

pub(super) fn read_only(path: &Path, reason: &str) -> Error {
    Error::ReadOnlyFile {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

/// Why the file's folder takes no new files. Makes one, because rights alone don't tell: the file system
/// may be read-only. The file is not the log's own, since closing that would drop SQLite's locks on it.
fn refusal(path: &Path) -> Option<io::Error> {
    let name = format!(".write-test-{}", Uuid::now_v7().simple());
    let file = path.parent()?.join(name);
    match File::create_new(&file) {
        Ok(_) => {
            // Nothing can be done about a file that can't be removed.
            let _ = fs::remove_file(&file);
            None
        }
        Err(refused) => matches!(
            refused.kind(),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
        )
        .then_some(refused),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn has_content(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.len() > 0)
}

/// The URI of a file that does not change. `%`, `?` and `#` would end the path.
fn immutable_uri(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "/");
    let path = path
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    let root = if path.starts_with('/') { "" } else { "/" };
    format!("file://{root}{path}?immutable=1")
}
