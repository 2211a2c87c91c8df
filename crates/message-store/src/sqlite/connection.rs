//! How connections are opened, and what they are asked to be.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::config::{Config, Durability, Location};
use super::error::is_busy;
use super::schema;
use crate::Error;

/// More statements than there are: none is prepared twice.
const KEPT_STATEMENTS: usize = 64;
/// The log is moved into the file when it has so many pages. More than SQLite's 1,000: writes to
/// many categories change pages all over the indexes, and each page is moved once however often it
/// was written.
const CHECKPOINT_PAGES: i64 = 4_000;
const OPEN_PAUSE: Duration = Duration::from_millis(2);

/// The connection that writes, with the schema installed and verified. Processes that open one file
/// at the same time wait for each other.
pub(super) fn writer(config: &Config) -> Result<Connection, Error> {
    let give_up = Instant::now() + config.write_timeout;
    loop {
        match try_writer(config) {
            Err(OpenError::Busy) if Instant::now() < give_up => thread::sleep(OPEN_PAUSE),
            Err(OpenError::Busy) => {
                return Err(Error::Timeout {
                    operation: "open",
                    limit: config.write_timeout,
                });
            }
            Err(OpenError::Failed(error)) => return Err(error),
            Ok(connection) => return Ok(connection),
        }
    }
}

/// A connection that reads a file. It is opened for writing, so that whichever is the last to be
/// closed can fold the log into the file; nothing is written with it.
pub(super) fn reader(config: &Config, path: &Path) -> Result<Connection, Error> {
    let connection =
        Connection::open_with_flags(path, flags() | OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(config.read_timeout)?;
    prepare_caches(&connection, config)?;
    Ok(connection)
}

/// Why a file could not be opened.
pub(super) enum OpenError {
    Busy,
    Failed(Error),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        if is_busy(&error) {
            Self::Busy
        } else {
            Self::Failed(error.into())
        }
    }
}

impl From<Error> for OpenError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

fn try_writer(config: &Config) -> Result<Connection, OpenError> {
    let connection = match &config.location {
        Location::Memory => Connection::open_in_memory()?,
        Location::File(path) => {
            let writable = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
            Connection::open_with_flags(path, flags() | writable)?
        }
    };
    // Whoever waits for the lock does so outside SQLite, where waiting need not hold a thread.
    connection.busy_timeout(Duration::ZERO)?;
    // Not before it is known whose file it is.
    schema::refuse_foreign(&connection)?;
    if let Location::File(_) = config.location {
        set(&connection, "journal_mode", "WAL", "wal")?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    }
    match config.durability {
        Durability::Full => set(&connection, "synchronous", "FULL", "2")?,
        Durability::Normal => set(&connection, "synchronous", "NORMAL", "1")?,
    }
    prepare_caches(&connection, config)?;
    schema::install(&connection)?;
    schema::verify(&connection)?;
    Ok(connection)
}

/// Each connection is used by one thread at a time, so SQLite need not lock. Names are plain paths.
fn flags() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_NO_MUTEX
}

/// Statements are prepared once: without the first setting SQLite plans a statement anew whenever
/// another value is bound to what bounds a range.
fn prepare_caches(connection: &Connection, config: &Config) -> Result<(), rusqlite::Error> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(KEPT_STATEMENTS);
    let kibibytes = i64::try_from(config.cache_bytes / 1024).unwrap_or(i64::MAX);
    connection.pragma_update(None, "cache_size", -kibibytes)
}

/// Sets a pragma and reads it back: some file systems refuse a setting without an error.
fn set(
    connection: &Connection,
    pragma: &str,
    value: &str,
    read_back: &str,
) -> Result<(), OpenError> {
    connection.pragma_update(None, pragma, value)?;
    let found = setting(connection, pragma)?;
    if found != read_back {
        let reason = format!("{pragma} is {found} instead of {value}");
        return Err(OpenError::Failed(Error::Unavailable {
            reason: reason.into(),
        }));
    }
    Ok(())
}

/// The value of a pragma as text.
pub(super) fn setting(connection: &Connection, pragma: &str) -> rusqlite::Result<String> {
    connection.pragma_query_value(None, pragma, |row| {
        Ok(match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            other => other.as_str()?.to_owned(),
        })
    })
}
