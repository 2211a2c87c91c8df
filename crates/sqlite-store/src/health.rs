//! The durability of a file, as its connections report it.

use rusqlite::{Connection, Result};
use store_fault::Health;

/// The health of a store, as the writer's connection sees it. A commit is durable in a file in WAL mode
/// whose every commit is flushed.
///
/// # Errors
/// SQLite's.
pub fn writer_health(connection: &Connection) -> Result<Health> {
    let mode = journal_mode(connection)?;
    let synchronous = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    let level = match synchronous {
        0 => "off",
        1 => "normal",
        // 2 is full, and 3 is extra, which flushes at least as much.
        _ => "full",
    };
    let is_durable = mode == "wal" && level == "full";
    let settings = vec![("journal_mode", mode), ("synchronous", level.to_owned())];
    Ok(health(settings, is_durable))
}

/// The health of a store that is only for reads. It acknowledges no commit, so it can lose none.
///
/// # Errors
/// SQLite's.
pub fn reader_health(connection: &Connection) -> Result<Health> {
    let mode = journal_mode(connection)?;
    let settings = vec![("journal_mode", mode), ("access", "read-only".to_owned())];
    Ok(health(settings, true))
}

fn journal_mode(connection: &Connection) -> Result<String> {
    connection.pragma_query_value(None, "journal_mode", |row| row.get(0))
}

fn health(settings: Vec<(&'static str, String)>, is_durable: bool) -> Health {
    Health::new("SQLite", rusqlite::version(), settings, is_durable)
}
