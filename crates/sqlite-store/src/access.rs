//! Files that can't be written: an archive, a mounted backup, a file of another user.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, Result};
use store_fault::Fault;
use uuid::Uuid;

use crate::{Failure, failure, fault};

/// How connections open a store's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// For reads and writes.
    #[default]
    Write,
    /// For reads, with the `-wal` and `-shm` beside the file, so they see what other processes write.
    Read,
    /// For reads of the file alone. SQLite takes no locks and does not look for changes.
    Immutable,
}

impl Access {
    /// Finds out how a file can be opened for reads. `open` opens a connection, and is called once or twice.
    ///
    /// A store in WAL mode has a `-shm` beside it while it is open. Without one, and where none can be made,
    /// only a file without unfinished `-wal` can be read, and only as immutable.
    ///
    /// # Errors
    /// [`Fault::ReadOnlyFile`] if SQLite needs a file beside this one that can't be made; otherwise the
    /// fault of SQLite's error.
    pub fn for_reads(
        path: &Path,
        open: impl Fn(Self) -> Result<Connection>,
    ) -> Result<Self, Fault> {
        let failed = match try_read(open(Self::Read)) {
            Ok(()) => return Ok(Self::Read),
            Err(failed) => failed,
        };
        if failure(&failed) != Failure::Refused || !path.is_file() {
            return Err(fault(&failed));
        }
        if has_content(&beside(path, "-wal")) {
            let reason = "its newest content is in the -wal file, and reading it needs a -shm file, \
                          which can't be made there: copy the file and its -wal to a folder that can be \
                          written";
            return Err(read_only_file(path, reason));
        }
        try_read(open(Self::Immutable)).map_err(|failed| fault(&failed))?;
        Ok(Self::Immutable)
    }

    /// The flags for SQLite.
    pub fn flags(self) -> OpenFlags {
        match self {
            Self::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Self::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Self::Immutable => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        }
    }

    /// The file's name for SQLite.
    pub fn name(self, path: &Path) -> PathBuf {
        match self {
            Self::Write | Self::Read => path.to_owned(),
            Self::Immutable => immutable_uri(path).into(),
        }
    }
}

/// Reads something, because SQLite opens the file only then.
fn try_read(opened: Result<Connection>) -> Result<()> {
    opened?.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}

/// Checks that SQLite could open the file for writes.
///
/// # Errors
/// [`Fault::ReadOnlyFile`] if it opened the file only for reads.
pub fn require_writable(connection: &Connection, path: &Path) -> Result<(), Fault> {
    match connection.is_readonly(rusqlite::MAIN_DB) {
        Ok(false) => Ok(()),
        Ok(true) => {
            let reason = "the system allows only reads of the file";
            Err(read_only_file(path, reason))
        }
        Err(failed) => Err(fault(&failed)),
    }
}

/// The fault of a file that can't be written.
pub fn read_only_file(path: &Path, reason: &str) -> Fault {
    Fault::ReadOnlyFile {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

/// Why the file's folder takes no new files. `None` if it takes them, or for another reason, such as a
/// folder that is missing.
///
/// Makes a file, because rights alone don't tell: the file system may be read-only. The file is not the
/// store's own, since closing that would drop SQLite's locks on it.
pub(crate) fn refusal(path: &Path) -> Option<io::Error> {
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

pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
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
