//! Settings that both the speed and the durability of a store depend on.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Result};

/// SQLite truncates the write-ahead log to this size after a long reader let it grow.
pub(crate) const LOG_BYTES: i64 = 64 << 20;
/// A checkpoint runs when the write-ahead log has this many pages. The value is above SQLite's default of
/// 1,000, because a checkpoint writes a page once no matter how often it changed. It is not much higher,
/// because flushing a log that still grows takes twice as long as overwriting an existing one.
pub(crate) const CHECKPOINT_PAGES: u32 = 2_000;

/// Configures the writer's connection of a file in WAL mode: each flush reaches the disk itself, a
/// checkpoint runs within a commit when the log has 2,000 pages, unless a
/// [`WriteAheadLog`](crate::WriteAheadLog) runs it beside the commits, and the log shrinks again to 64 MiB.
///
/// # Errors
/// SQLite's, if a setting can't be changed.
pub fn configure_log(connection: &Connection) -> Result<()> {
    // Only macOS has these two: there, a plain fsync does not flush the disk's cache.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)
}

/// Keeps query plans stable, and `cached` prepared statements.
///
/// # Errors
/// SQLite's, if a setting can't be changed.
pub fn configure_statements(connection: &Connection, cached: usize) -> Result<()> {
    connection.set_prepared_statement_cache_capacity(cached);
    // Without this option, plans may depend on the bound values, and SQLite prepares a statement again
    // whenever a parameter that limits a range gets a new value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}
