//! Opens connections and configures them.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use group_commit::deadline_after;
use rusqlite::{Connection, OpenFlags};
use sqlite_store::{
    Access, Durability, Location, configure_log, configure_statements, require_writable,
};

use super::config::Config;
use super::error::Failure;
use super::schema;
use crate::text::invalid;
use crate::{Error, Fault, Problem, Reason};

/// Capacity of the statement cache. It exceeds the number of statements, so none is evicted.
const CACHED_STATEMENTS: usize = 64;
/// Pause before another attempt to open a locked file.
const OPEN_PAUSE: Duration = Duration::from_millis(2);

/// Opens the writer's connection, installs and verifies the schema, and checks the contents with `check`.
/// Waits while another process opens the same file.
pub(super) fn writer(
    config: &Config,
    check: fn(&Connection) -> Result<(), Failure>,
) -> Result<Connection, Error> {
    let give_up = deadline_after(Instant::now(), config.write_timeout);
    loop {
        let opened = try_writer(config).and_then(|connection| {
            check(&connection)?;
            Ok(connection)
        });
        match opened {
            Err(Failure::Busy(_)) if Instant::now() < give_up => thread::sleep(OPEN_PAUSE),
            Ok(connection) => return Ok(connection),
            Err(failed) => {
                return Err(match failed.into() {
                    Error::Fault(failed) => config.explain(failed).into(),
                    other => other,
                });
            }
        }
    }
}

/// A connection that only reads the store of a configuration, and how it was opened.
pub(super) fn open_to_read(config: &Config) -> Result<(Access, Connection), Error> {
    let Location::File(path) = &config.location else {
        let reason = "a store in memory can't be opened only for reads";
        return Err(invalid("read_only")(Problem::malformed(reason)));
    };
    let access = access_for_reads(config, path)?;
    let connection = reader(config, path, access).map_err(Failure::from)?;
    Ok((access, connection))
}

/// Finds out how a file can be opened for reads.
pub(super) fn access_for_reads(config: &Config, path: &Path) -> Result<Access, Error> {
    Ok(Access::for_reads(path, |access| {
        reader(config, path, access)
    })?)
}

/// Opens a read connection. With [`Access::Write`] it has write access only because the last connection
/// to close moves the log into the file, and that may be this one.
pub(super) fn reader(config: &Config, path: &Path, access: Access) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(access.name(path), flags() | access.flags())?;
    // Unlike the writer, a reader may wait within SQLite: it waits only during crash recovery.
    connection.busy_timeout(config.read_timeout)?;
    configure_caches(&connection, config)?;
    Ok(connection)
}

fn try_writer(config: &Config) -> Result<Connection, Failure> {
    let connection = match &config.location {
        Location::Memory => Connection::open_in_memory()?,
        Location::File(path) => {
            let writable = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
            let connection = Connection::open_with_flags(path, flags() | writable)?;
            require_writable(&connection, path).map_err(Error::from)?;
            connection
        }
    };
    // Callers retry outside SQLite, where an async caller can wait without blocking a thread.
    connection.busy_timeout(Duration::ZERO)?;
    // Check this before the first change, because another application's file must stay untouched.
    schema::refuse_foreign(&connection)?;
    if let Location::File(_) = config.location {
        set(&connection, "journal_mode", "WAL", "wal")?;
        configure_log(&connection)?;
    }
    // WAL mode is stored in the file; `synchronous` is a setting of the connection.
    match config.durability {
        Durability::Full => set(&connection, "synchronous", "FULL", "2")?,
        Durability::Normal => set(&connection, "synchronous", "NORMAL", "1")?,
    }
    configure_caches(&connection, config)?;
    schema::install(&connection)?;
    schema::verify(&connection)?;
    Ok(connection)
}

/// Connections need no mutex in SQLite, because only one thread at a time uses a connection.
/// `SQLITE_OPEN_URI` is missing, so that a path is never parsed as a URI; see [`Access::Immutable`].
fn flags() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_NO_MUTEX
}

/// Configures the statement cache and the page cache.
fn configure_caches(connection: &Connection, config: &Config) -> Result<(), rusqlite::Error> {
    configure_statements(connection, CACHED_STATEMENTS)?;
    // A negative cache size is in KiB, a positive one in pages.
    let kibibytes = i64::try_from(config.cache_bytes / 1024).unwrap_or(i64::MAX);
    connection.pragma_update(None, "cache_size", -kibibytes)
}

/// Sets a pragma and reads it back, because SQLite may ignore a setting without an error, such as
/// WAL mode on a file system that does not support it.
fn set(connection: &Connection, pragma: &str, value: &str, read_back: &str) -> Result<(), Failure> {
    connection.pragma_update(None, pragma, value)?;
    let found = setting(connection, pragma)?;
    if found != read_back {
        let reason = format!("{pragma} is {found} instead of {value}");
        return Err(Failure::Failed(Error::Fault(Fault::Unreachable(
            Reason::new(reason),
        ))));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writer_flushes_the_disks_cache_and_limits_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::file(folder.path().join("messages.sqlite"));
        let connection = writer(&config, |_| Ok(())).unwrap();
        for (pragma, value) in [
            ("fullfsync", "1"),
            ("checkpoint_fullfsync", "1"),
            ("journal_size_limit", "67108864"),
            ("wal_autocheckpoint", "2000"),
        ] {
            assert_eq!(setting(&connection, pragma).unwrap(), value, "{pragma}");
        }
    }
}
