//! Installs, upgrades and verifies the schema of the log.

use std::time::Instant;

use rusqlite::{Connection, OptionalExtension as _, Result};

use super::config::Config;
use super::error::error;
use super::session::{deadline, retry};
use super::statements::{BEGIN_WRITE, COMMIT, ROLLBACK};
use crate::{Error, Fault};

/// The migrations from an empty file to the current schema: version 1, 2 and so on. A released
/// migration never changes; a later migration changes its objects.
const MIGRATIONS: &[&[&str]] = &[
    &[
        include_str!("../../schema/sqlite/tables/dcb_migration.sql"),
        include_str!("../../schema/sqlite/tables/dcb_event.sql"),
        include_str!("../../schema/sqlite/tables/dcb_event_tag.sql"),
        include_str!("../../schema/sqlite/tables/dcb_indexed.sql"),
        include_str!("../../schema/sqlite/tables/dcb_tracking.sql"),
        include_str!("../../schema/sqlite/tables/dcb_command.sql"),
        include_str!("../../schema/sqlite/indexes/dcb_event_id.sql"),
    ],
    &[include_str!(
        "../../schema/sqlite/tables/dcb_kept_state.sql"
    )],
];

const NEWEST: i32 = MIGRATIONS.len() as i32;

// The `_` is escaped because it is a wildcard of LIKE. SQLite creates automatic indexes itself;
// their `sql` is NULL. The descending order of types lists tables before indexes.
const OBJECTS: &str = "SELECT type, name, sql FROM sqlite_schema \
    WHERE name LIKE 'dcb\\_%' ESCAPE '\\' AND sql IS NOT NULL ORDER BY type DESC, name";

/// Installs or upgrades the schema, then verifies it.
pub(super) fn ensure(connection: &Connection, config: &Config) -> Result<(), Error> {
    let deadline = deadline(config.read_timeout);
    let found =
        retry(deadline, || installed_version(connection)).map_err(|failed| error(&failed))?;
    if found > NEWEST {
        return Err(too_new(config, found));
    }
    if found < NEWEST {
        let found = migrate(connection, deadline).map_err(|failed| error(&failed))?;
        tell(connection, found);
    }
    compare(connection, config)
}

/// Verifies the schema, for a connection that can't install it.
pub(super) fn verify(connection: &Connection, config: &Config) -> Result<(), Error> {
    let found = installed_version(connection).map_err(|failed| error(&failed))?;
    if found > NEWEST {
        return Err(too_new(config, found));
    }
    if 0 < found && found < NEWEST {
        let older = format!("it has version {found}, and reading needs version {NEWEST}");
        return Err(Fault::schema_changed(config.name(), vec![older]).into());
    }
    compare(connection, config)
}

/// Logs an installation, unless another process was faster. A log in memory is installed
/// each time.
fn tell(connection: &Connection, found: i32) {
    let file = connection.path().filter(|path| !path.is_empty());
    if let Some(file) = file.filter(|_| found < NEWEST) {
        let (from, to) = (found, NEWEST);
        tracing::info!(file, from, to, "the schema was installed or upgraded");
    }
}

fn too_new(config: &Config, found: i32) -> Error {
    Error::Fault(Fault::SchemaTooNew {
        schema: config.name(),
        found,
        supported: NEWEST,
    })
}

fn compare(connection: &Connection, config: &Config) -> Result<(), Error> {
    let differences = differences(connection).map_err(|failed| error(&failed))?;
    if differences.is_empty() {
        return Ok(());
    }
    Err(Fault::schema_changed(config.name(), differences).into())
}

/// The newest installed migration, 0 if there is none.
fn installed_version(connection: &Connection) -> Result<i32> {
    let exists = connection
        .prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'dcb_migration'")?
        .exists([])?;
    if !exists {
        return Ok(0);
    }
    let newest = "SELECT max(version) FROM dcb_migration";
    let version: Option<i32> = connection.query_row(newest, [], |row| row.get(0))?;
    Ok(version.unwrap_or(0))
}

/// Installs missing migrations in one transaction, and returns the version before. Processes that
/// start together take turns.
fn migrate(connection: &Connection, deadline: Instant) -> Result<i32> {
    retry(deadline, || connection.execute_batch(BEGIN_WRITE))?;
    let installed = install(connection);
    let end = if installed.is_ok() { COMMIT } else { ROLLBACK };
    let ended = connection.execute_batch(end);
    // The first error is the cause; a failed rollback adds nothing.
    let found = installed?;
    ended.map(|()| found)
}

/// Returns the version that was installed before.
fn install(connection: &Connection) -> Result<i32> {
    // Read again under the write lock, because another process may have been faster.
    let found = installed_version(connection)?;
    for (migration, version) in MIGRATIONS.iter().zip(1..) {
        if version > found {
            for object in *migration {
                connection.execute_batch(object)?;
            }
            let record = "INSERT INTO dcb_migration (version) VALUES (?1)";
            connection.execute(record, [version])?;
        }
    }
    Ok(found)
}

/// Compares the schema objects with those of a fresh log in memory.
fn differences(connection: &Connection) -> Result<Vec<String>> {
    let fresh = Connection::open_in_memory()?;
    install(&fresh)?;
    let mut differences = Vec::new();
    for (kind, name, expected) in objects(&fresh)? {
        let sql = "SELECT sql FROM sqlite_schema WHERE type = ?1 AND name = ?2";
        let found: Option<String> = connection
            .query_row(sql, (&kind, &name), |row| row.get(0))
            .optional()?;
        match found {
            None => differences.push(format!("{kind} {name} is missing")),
            // SQLite stores the text of the CREATE statement, including comments inside it.
            Some(found) if found != expected => {
                differences.push(format!("{kind} {name} differs from what was installed"));
            }
            Some(_) => {}
        }
    }
    Ok(differences)
}

/// The kind, name and definition of each schema object.
fn objects(connection: &Connection) -> Result<Vec<(String, String, String)>> {
    let mut objects = connection.prepare(OBJECTS)?;
    let rows = objects.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}
