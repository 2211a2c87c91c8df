use rusqlite::Connection;

use super::connection::setting;
use super::error::Failure;
use crate::Health;

/// The settings that decide whether a commit survives power loss.
const DURABILITY: [&str; 2] = ["journal_mode", "synchronous"];

pub(super) fn health(connection: &Connection) -> Result<Health, Failure> {
    let mut durability = Vec::new();
    for name in DURABILITY {
        durability.push((name, setting(connection, name)?));
    }
    // Durable means a file in WAL mode with an fsync per commit: `synchronous` is FULL (2) or EXTRA
    // (3).
    let is_durable = durability[0].1 == "wal" && matches!(durability[1].1.as_str(), "2" | "3");
    Ok(Health::new(
        "SQLite",
        rusqlite::version(),
        durability,
        is_durable,
    ))
}

/// A store that acknowledges no write can lose none.
pub(super) fn of_reader(connection: &Connection) -> Result<Health, Failure> {
    let settings = vec![
        ("journal_mode", setting(connection, "journal_mode")?),
        ("access", "read-only".to_owned()),
    ];
    Ok(Health::new("SQLite", rusqlite::version(), settings, true))
}
