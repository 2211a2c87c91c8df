//! Installs the objects of `schema/message_store/sqlite` and verifies them whenever a store is
//! opened.

use rusqlite::{Connection, OptionalExtension};

use super::error::Failure;
use super::transaction::Transaction;
use crate::{Error, Fault};

/// `RGMS` in ASCII. Marks a file as a message store.
const APPLICATION_ID: i32 = 0x5247_4d53;

/// An object of the schema. Its file has the same name.
struct Object {
    name: &'static str,
    sql: &'static str,
}

macro_rules! objects {
    ($($folder:literal / $name:literal),* $(,)?) => {
        [$(Object {
            name: $name,
            sql: include_str!(concat!("../../schema/sqlite/", $folder, "/", $name, ".sql")),
        }),*]
    };
}

/// The objects that each version adds or replaces, in the order of installation.
const VERSIONS: [&[Object]; 2] = [
    &objects![
        "tables" / "messages",
        "versions/1" / "checkpoints",
        "tables" / "namespace",
        "indexes" / "messages_id",
        "indexes" / "messages_stream",
        "indexes" / "messages_category",
        "indexes" / "messages_correlation",
    ],
    &objects!["tables" / "checkpoints"],
];

/// Rejects another application's file before anything in it is changed.
pub(super) fn refuse_foreign(connection: &Connection) -> Result<(), Failure> {
    // Read in one snapshot, because another process may install the schema between the two reads.
    let snapshot = Transaction::snapshot(connection)?;
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let objects: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    snapshot.commit()?;
    if application == APPLICATION_ID || (application == 0 && objects == 0) {
        return Ok(());
    }
    Err(changed(
        connection,
        vec!["the file is a database of another application".to_owned()],
    ))
}

/// Brings the schema to the newest version, in one transaction.
pub(super) fn install(connection: &Connection) -> Result<(), Failure> {
    if version(connection)? == VERSIONS.len() {
        return Ok(());
    }
    // One transaction, so that another process sees all objects with their version or none.
    let transaction = Transaction::begin(connection)?;
    // Read again under the lock: another process may have installed the schema in the meantime.
    let installed = version(connection)?;
    for object in VERSIONS.iter().skip(installed).copied().flatten() {
        connection.execute_batch(object.sql)?;
    }
    connection.pragma_update(None, "user_version", VERSIONS.len() as i32)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.commit()?;
    tell(connection, installed);
    Ok(())
}

/// Logs an installation, unless another process was faster. A store in memory is installed each
/// time.
fn tell(connection: &Connection, from: usize) {
    let file = connection.path().filter(|path| !path.is_empty());
    let to = VERSIONS.len();
    if let Some(file) = file.filter(|_| from < to) {
        tracing::info!(file, from, to, "the schema was installed or upgraded");
    }
}

/// Verifies the schema, for a connection that can't install it.
pub(super) fn require_installed(connection: &Connection) -> Result<(), Failure> {
    refuse_foreign(connection)?;
    let (found, newest) = (version(connection)?, VERSIONS.len());
    if 0 < found && found < newest {
        let older = format!("the file has version {found}, and reading needs version {newest}");
        return Err(changed(connection, vec![older]));
    }
    verify(connection)
}

/// Compares each object with its file. SQLite keeps the text of a definition, including the
/// comments within it.
pub(super) fn verify(connection: &Connection) -> Result<(), Failure> {
    let mut differences = Vec::new();
    for object in newest() {
        let found: Option<String> = connection
            .query_row(
                "SELECT sql FROM sqlite_schema WHERE name = ?1",
                [object.name],
                |row| row.get(0),
            )
            .optional()?;
        match found {
            None => differences.push(format!("{} is missing", object.name)),
            // Don't test for equality: a file may start with a comment, which SQLite drops.
            Some(sql) if !object.sql.contains(sql.trim()) => {
                differences.push(format!("{} differs", object.name));
            }
            Some(_) => {}
        }
    }
    if differences.is_empty() {
        Ok(())
    } else {
        Err(changed(connection, differences))
    }
}

/// The objects without those that a later version replaces.
fn newest() -> impl Iterator<Item = &'static Object> {
    let versions = VERSIONS.iter().copied().enumerate();
    versions.flat_map(|(version, objects)| {
        let later = VERSIONS.iter().skip(version + 1).copied().flatten();
        let is_newest = move |object: &&Object| later.clone().all(|one| one.name != object.name);
        objects.iter().filter(is_newest)
    })
}

/// The installed version, 0 for an empty file.
fn version(connection: &Connection) -> Result<usize, Failure> {
    let found: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let supported = VERSIONS.len() as i32;
    if found > supported {
        return Err(Failure::Failed(Error::Fault(Fault::SchemaTooNew {
            schema: name(connection),
            found,
            supported,
        })));
    }
    Ok(found.max(0) as usize)
}

fn changed(connection: &Connection, differences: Vec<String>) -> Failure {
    let name = name(connection);
    Failure::Failed(Fault::schema_changed(name, differences).into())
}

/// The file, for errors.
fn name(connection: &Connection) -> String {
    let file = connection.path().filter(|path| !path.is_empty());
    file.unwrap_or(":memory:").into()
}
