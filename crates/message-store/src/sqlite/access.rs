//! Files that can't be written: an archive, a mounted backup, a file of another user.

use std::path::Path;

use rusqlite::Connection;
use sqlite_store::{Access, Unreadable, refusal};

use super::config::{Config, Location};
use super::connection::reader;
use super::error::Failure;
use crate::text::{invalid, malformed};
use crate::{Error, Fault};

/// A connection that only reads the store of a configuration, and how it was opened.
pub(super) fn open_to_read(config: &Config) -> Result<(Access, Connection), Error> {
    let Location::File(path) = &config.location else {
        let reason = "a store in memory can't be opened only for reads".to_owned();
        return Err(invalid("read_only")(malformed(reason)));
    };
    let access = for_reads(config, path)?;
    let connection = reader(config, path, access).map_err(Failure::from)?;
    Ok((access, connection))
}

/// Finds out how a file can be opened for reads.
pub(super) fn for_reads(config: &Config, path: &Path) -> Result<Access, Error> {
    let access = Access::for_reads(path, |access| reader(config, path, access));
    access.map_err(|unreadable| match unreadable {
        Unreadable::Failed(failed) => Failure::from(failed).into(),
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
    Error::Fault(Fault::ReadOnlyFile {
        path: path.to_owned(),
        reason: reason.into(),
    })
}
