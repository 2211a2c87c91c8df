//! Opens and configures connections.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use group_commit::deadline_after;
use rusqlite::{Connection, OpenFlags, Result};
use sqlite_store::{
    Access, Durability, Location, configure_log, configure_statements, fault, is_busy,
    require_writable,
};

use super::config::Config;
use super::error::error;
use super::statements;
use crate::text::invalid;
use crate::{Error, Fault, Problem, Reason};

/// The page caches of a connection, in KiB.
const WRITER_CACHE_KIB: i64 = 16 << 10;
const READER_CACHE_KIB: i64 = 4 << 10;
/// Only a writer may create the file. A reader that finds none would hide that it was removed.
const CREATE: OpenFlags = OpenFlags::SQLITE_OPEN_CREATE;

/// Opens the writer's connection and verifies its settings.
pub(super) fn writer(config: &Config) -> Result<Connection, Error> {
    try_writer(config).map_err(|failed| config.explain(failed).into())
}

fn try_writer(config: &Config) -> Result<Connection, Fault> {
    let connection = open(config, Access::Write, CREATE).map_err(|failed| fault(&failed))?;
    // A log in memory has no write-ahead log and nothing to flush.
    let Location::File(path) = &config.location else {
        return Ok(connection);
    };
    require_writable(&connection, path)?;
    let deadline = deadline(config.read_timeout);
    // The busy timeout does not cover this pragma, which can collide with another process that opens
    // the same new file.
    let mode: String = retry(deadline, || {
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
    })
    .map_err(|failed| fault(&failed))?;
    // SQLite reports no error if it can't use WAL, for example without shared memory.
    if mode != "wal" {
        let reason = format!("the file does not support WAL, its journal mode is {mode}");
        return Err(Fault::Unreachable(Reason::new(reason)));
    }
    prepare(&connection, config.durability).map_err(|failed| fault(&failed))?;
    // SQLite ignores unknown values silently, so read the setting back.
    let synchronous = pragma(&connection, "synchronous").map_err(|failed| fault(&failed))?;
    if synchronous != config.durability.number() {
        return Err(Fault::Unreachable(Reason::new(format!(
            "SQLite did not apply the flush setting, synchronous is {synchronous}"
        ))));
    }
    Ok(connection)
}

fn prepare(connection: &Connection, durability: Durability) -> Result<()> {
    // No busy timeout: the writer retries by itself, within the append timeout.
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "synchronous", durability.number())?;
    configure_log(connection)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)
}

/// Finds out how the file of a configuration can be opened for reads.
pub(super) fn access_for_reads(config: &Config) -> Result<Access, Error> {
    let Location::File(path) = &config.location else {
        let problem = Problem::malformed("a log in memory can't be opened only for reads");
        return Err(invalid("read_only")(problem));
    };
    Ok(Access::for_reads(path, |access| reader(config, access))?)
}

/// A connection that reads the log of a configuration, however it may be opened.
pub(super) fn open_to_read(config: &Config) -> Result<Connection, Error> {
    let access = match config.location {
        Location::Memory => Access::Write,
        Location::File(_) => access_for_reads(config)?,
    };
    reader(config, access).map_err(|failed| error(&failed))
}

/// Opens a connection for reads.
pub(super) fn reader(config: &Config, access: Access) -> Result<Connection> {
    let connection = open(config, access, OpenFlags::empty())?;
    connection.busy_timeout(config.read_timeout)?;
    // As a safeguard, refuse writes: they must go through the writer's transaction.
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    Ok(connection)
}

/// Opens a connection for the caller's tables, with SQLite's own busy timeout.
pub(super) fn plain(config: &Config) -> Result<Connection> {
    let connection = open(config, Access::Write, CREATE)?;
    connection.busy_timeout(config.read_timeout)?;
    connection.pragma_update(None, "synchronous", config.durability.number())?;
    Ok(connection)
}

/// Reads a pragma with a numeric value.
pub(super) fn pragma(connection: &Connection, name: &str) -> Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

fn open(config: &Config, access: Access, create: OpenFlags) -> Result<Connection> {
    // NO_MUTEX is safe, because no two threads use a connection at once.
    let flags = access.flags() | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
    let path = match &config.location {
        Location::Memory => PathBuf::from(":memory:"),
        Location::File(path) => access.name(path),
    };
    let connection = Connection::open_with_flags(path, flags)?;
    configure_statements(&connection, statements::COUNT)?;
    rusqlite::vtab::array::load_module(&connection)?;
    Ok(connection)
}

/// The end of a time limit that starts now.
pub(super) fn deadline(limit: Duration) -> Instant {
    deadline_after(Instant::now(), limit)
}

/// Retries while another process holds a lock, until the deadline.
pub(super) fn retry<T>(deadline: Instant, mut work: impl FnMut() -> Result<T>) -> Result<T> {
    const SHORTEST: Duration = Duration::from_micros(50);
    const LONGEST: Duration = Duration::from_millis(2);
    let mut pause = SHORTEST;
    loop {
        match work() {
            Err(failed) if is_busy(&failed) && Instant::now() < deadline => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST);
            }
            done => return done,
        }
    }
}
