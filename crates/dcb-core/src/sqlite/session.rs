//! How connections are opened and set up.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Result};

use super::config::{Config, Synchronous};
use super::error::{error, is_busy};
use super::statements;
use crate::Error;

/// The pages of the file that a connection keeps in memory, in KiB.
const WRITER_CACHE_KIB: i64 = 16 << 10;
const READER_CACHE_KIB: i64 = 4 << 10;
/// The write-ahead log is moved into the file when it has so many pages. More than SQLite's 1,000,
/// since a page is moved once however often it was written; not many more, since a log that still
/// grows is flushed at half the speed of one that is written over.
const CHECKPOINT_PAGES: i64 = 2_000;
/// The longest that SQLite can be told to wait for a lock.
const LONGEST_BUSY: Duration = Duration::from_millis(i32::MAX as u64);
/// What a long reader let the write-ahead log grow to is given back down to this size.
const WAL_BYTES: i64 = 64 << 20;

/// The connection that writes, set up and checked.
pub(super) fn writer(config: &Config) -> Result<Connection, Error> {
    let connection = open(config).map_err(|failed| error(&failed))?;
    let Some(_) = config.path else {
        return Ok(connection);
    };
    let deadline = deadline(config.query_timeout);
    // Two processes that open a new file at once can be in each other's way here, and SQLite does
    // not wait for that.
    let mode: String = retry(deadline, || {
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
    })
    .map_err(|failed| error(&failed))?;
    if mode != "wal" {
        let reason = format!("the file can't be written beside readers: its journal is {mode}");
        return Err(Error::Unavailable {
            reason: reason.into(),
        });
    }
    prepare(&connection, config.synchronous).map_err(|failed| error(&failed))?;
    let synchronous = pragma(&connection, "synchronous").map_err(|failed| error(&failed))?;
    if synchronous != config.synchronous.number() {
        return Err(Error::Unavailable {
            reason: format!("SQLite flushes by level {synchronous}, not as configured").into(),
        });
    }
    Ok(connection)
}

fn prepare(connection: &Connection, synchronous: Synchronous) -> Result<()> {
    // Waiting for the lock is the writer's own: it knows how long an append may take.
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "synchronous", synchronous.number())?;
    // Only macOS knows a flush that the disk's cache does not swallow.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", WAL_BYTES)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)
}

/// A connection that reads a file beside the writer.
pub(super) fn reader(config: &Config) -> Result<Connection> {
    let connection = open(config)?;
    connection.busy_timeout(config.query_timeout.min(LONGEST_BUSY))?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    Ok(connection)
}

/// A connection for the tables of others, which waits for other writers by itself.
pub(super) fn plain(config: &Config) -> Result<Connection> {
    let connection = open(config)?;
    connection.busy_timeout(config.query_timeout.min(LONGEST_BUSY))?;
    connection.pragma_update(None, "synchronous", config.synchronous.number())?;
    Ok(connection)
}

/// A number that a pragma tells.
pub(super) fn pragma(connection: &Connection, name: &str) -> Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

fn open(config: &Config) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let path = config.path.as_deref().unwrap_or(Path::new(":memory:"));
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_prepared_statement_cache_capacity(statements::COUNT);
    rusqlite::vtab::array::load_module(&connection)?;
    // A plan depends on the statement alone. Otherwise SQLite looks at the values, and makes some
    // plans anew for each execution.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// When the time allowed for what begins now is over. The clock may end before it, not before a
/// century has passed.
pub(super) fn deadline(limit: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    let now = Instant::now();
    now.checked_add(limit).unwrap_or_else(|| now + CENTURY)
}

/// Tries until another process is not in the way any more, or the deadline has passed.
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
