//! Files that can't be written: an archive, a mounted backup, a file of another user.

use std::path::Path;

use rusqlite::Connection;
use sqlite_store::{Access, Unreadable, refusal};

use super::config::{Config, Location};
use super::error::error;
use super::session;
use crate::text::invalid;
use crate::{Error, Fault, Problem};

/// A connection that reads the log of a configuration, however it may be opened.
pub(super) fn open_to_read(config: &Config) -> Result<Connection, Error> {
    let opened = match config.location {
        Location::Memory => session::reader(config, Access::Write),
        Location::File(_) => session::reader(config, for_reads(config)?),
    };
    opened.map_err(|failed| error(&failed))
}

/// Finds out how the file of a configuration can be opened for reads.
pub(super) fn for_reads(config: &Config) -> Result<Access, Error> {
    let Location::File(path) = &config.location else {
        let reason = "a log in memory can't be opened only for reads".to_owned();
        return Err(invalid("read_only")(Problem::Malformed { reason }));
    };
    let access = Access::for_reads(path, |access| session::reader(config, access));
    access.map_err(|unreadable| match unreadable {
        Unreadable::Failed(failed) => error(&failed),
        Unreadable::Refused { reason } => read_only(path, reason),
    })
}

/// Turns the error of a writer into [`Fault::ReadOnlyFile`] if the file's folder takes no new files.
/// SQLite reports the same for a folder that is missing, and if the process has too many open files.
pub(super) fn explain(config: &Config, failed: Error) -> Error {
    match (&config.location, &failed) {
        (Location::File(path), Error::Fault(Fault::Unreachable(_) | Fault::ReadOnly(_))) => {
            match refusal(path) {
                Some(refused) => {
                    read_only(path, &format!("its folder takes no new files: {refused}"))
                }
                None => failed,
            }
        }
        _ => failed,
    }
}

/// Fails if SQLite could open the file only for reads.
pub(super) fn require_writable(connection: &Connection, path: &Path) -> Result<(), Error> {
    match connection.is_readonly(rusqlite::MAIN_DB) {
        Ok(false) => Ok(()),
        Ok(true) => Err(read_only(path, "the system allows only reads of the file")),
        Err(failed) => Err(error(&failed)),
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
    Error::Fault(Fault::ReadOnlyFile {
        path: path.to_owned(),
        reason: reason.into(),
    })
}
