//! Takes over a schema that Message DB installed, and keeps its messages.
//!
//! Objects that people have built on the table may stand against it, and are refused by name. Then one
//! transaction locks the table, replaces each function under its name, and changes the table
//! without rewriting a message. Then the schema is compared with a fresh installation, like any
//! other. If anything fails, nothing has changed.
//!
//! A client that waits for the table during the adoption then continues in Message DB's
//! `write_message`, which takes the category's lock but makes no announcement. So a reader of all
//! messages could miss its message. A trigger announces every INSERT until the transactions that
//! ran beside the adoption have ended; [`end`] then drops it. If the process dies before, the
//! trigger stays until the next connect.

use std::time::Duration;

use postgres_store::{BEGIN, Schema, explain_denial};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};
use tokio::time::{Instant, sleep};

use super::adoption_bodies::name_changed;
use super::adoption_obstacles::obstacles;
use super::design::{all_files, files};
use super::error::error;
use super::execute::execute;
use crate::{Error, Fault};

macro_rules! adoption {
    ($name:literal) => {
        include_str!(concat!("../../schema/postgres/adoption/", $name, ".sql"))
    };
}

/// The functions of Message DB, which the adoption replaces.
const THEIRS: [&str; 12] = [
    "acquire_lock",
    "cardinal_id",
    "category",
    "get_category_messages",
    "get_last_stream_message",
    "get_stream_messages",
    "hash_64",
    "id",
    "is_category",
    "message_store_version",
    "stream_version",
    "write_message",
];

const OWNER: &str = "an adoption needs a role that owns the objects of Message DB";

/// The interval at which [`end`] checks whether the transactions have ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Whether the schema has a table of messages, or a view in its place, that this library did not install.
pub(super) async fn is_foreign(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<bool, Error> {
    const FOREIGN: &str = "SELECT count(*) FILTER (WHERE c.relname = 'messages') > 0 \
             AND count(*) FILTER (WHERE c.relname = 'migration') = 0 \
          FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = $1 AND c.relname IN ('messages', 'migration')";
    sqlx::query_scalar(FOREIGN)
        .persistent(false)
        .bind(schema.name())
        .fetch_one(connection)
        .await
        .map_err(|failed| error(&failed))
}

/// Makes the schema this library's, within the caller's READ COMMITTED transaction. Waits up to
/// `limit` for each lock. The caller compares the result with a fresh installation.
pub(super) async fn adopt(
    transaction: &mut PgConnection,
    schema: &Schema,
    limit: Duration,
) -> Result<(), Error> {
    let locked = schema.lock(transaction).await;
    locked.map_err(|failed| error(&failed))?;
    // Another process may have adopted it in the meantime.
    if !is_foreign(transaction, schema).await? {
        return Ok(());
    }
    check_obstacles(transaction, schema).await?;
    name_changed(transaction, schema).await?;
    tracing::info!(
        schema = schema.name(),
        "adopting Message DB's tables; builds the indexes messages_stream and messages_category"
    );
    let adopted = replace_objects(transaction, schema, limit).await;
    adopted.map_err(|failed| match timed_out(failed, limit) {
        Error::Fault(fault) => explain_denial(fault, OWNER).into(),
        failed => failed,
    })?;
    check_forms(transaction, schema).await
}

async fn replace_objects(
    transaction: &mut PgConnection,
    schema: &Schema,
    limit: Duration,
) -> Result<(), Error> {
    let lock = "LOCK TABLE message_store.messages IN ACCESS EXCLUSIVE MODE";
    execute(transaction, lock_timeout(limit) + &schema.qualify(lock)).await?;
    let mut sql: String = files()
        .iter()
        .filter_map(|file| replacement(file))
        .collect();
    sql += adoption!("view_grants");
    sql += adoption!("announce_insert");
    sql += "INSERT INTO message_store.migration (version, checksum) VALUES (1, ''); \
            SET LOCAL lock_timeout TO DEFAULT";
    execute(transaction, schema.qualify(&sql)).await
}

/// The statements that take the place of a file of the installation. None for the row type, which
/// Message DB has too, and which prepared statements of its clients name.
fn replacement(file: &str) -> Option<String> {
    if file.contains("CREATE TABLE message_store.messages (") {
        return Some(adoption!("messages").to_owned());
    }
    if file.contains("CREATE TYPE message_store.message ") {
        return None;
    }
    let file = file.replacen("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1);
    Some(file.replacen(
        "CREATE UNIQUE INDEX messages_id",
        "CREATE UNIQUE INDEX IF NOT EXISTS messages_id",
        1,
    ))
}

pub(super) fn lock_timeout(limit: Duration) -> String {
    format!(
        "SET LOCAL lock_timeout = '{}ms'; ",
        limit.as_millis().max(1)
    )
}

/// The error of a lock that another transaction holds, as a timeout.
pub(super) fn timed_out(failed: Error, limit: Duration) -> Error {
    match failed {
        Error::Fault(Fault::Locked(_)) => Error::Fault(Fault::TimedOut {
            operation: "open",
            limit,
        }),
        failed => failed,
    }
}

/// Checks that nothing stands against the adoption, before anything is changed.
async fn check_obstacles(transaction: &mut PgConnection, schema: &Schema) -> Result<(), Error> {
    let functions = names("FUNCTION", all_files());
    let functions: Vec<String> = functions
        .filter(|name| !THEIRS.contains(&name.as_str()))
        .collect();
    let views: Vec<String> = names("VIEW", all_files()).collect();
    let found = obstacles(transaction, schema, &functions, &views).await?;
    refuse(schema, found.into_iter())
}

/// The names of the objects of this kind that the files create.
fn names(
    kind: &'static str,
    files: impl Iterator<Item = &'static str>,
) -> impl Iterator<Item = String> {
    files.filter_map(move |file| {
        let (_, rest) = file.split_once(&format!("{kind} message_store."))?;
        let name = rest.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
        name.into_iter().next().map(str::to_owned)
    })
}

/// Checks that no function has two forms. A client's call could mean either. Older versions of
/// Message DB have other parameters.
async fn check_forms(transaction: &mut PgConnection, schema: &Schema) -> Result<(), Error> {
    const TWICE: &str = "SELECT p.proname::text FROM pg_catalog.pg_proc p \
          JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
         WHERE n.nspname = $1 GROUP BY p.proname HAVING count(*) > 1 ORDER BY p.proname";
    let twice: Vec<String> = sqlx::query_scalar(TWICE)
        .persistent(false)
        .bind(schema.name())
        .fetch_all(transaction)
        .await
        .map_err(|failed| error(&failed))?;
    refuse(
        schema,
        twice.into_iter().map(|name| {
            format!(
                "function {name} has other parameters than in Message DB 1.3.0: update it first"
            )
        }),
    )
}

fn refuse(schema: &Schema, differences: impl Iterator<Item = String>) -> Result<(), Error> {
    let differences: Vec<String> = differences.collect();
    match differences.is_empty() {
        true => Ok(()),
        false => Err(Fault::schema_changed(schema.name(), differences).into()),
    }
}

/// Drops the trigger of an adoption once all transactions that run now have ended. Waits up to
/// `limit`; then the trigger stays, and the next call tries again.
pub(super) async fn end(
    connection: &mut PgConnection,
    schema: &Schema,
    limit: Duration,
) -> Result<(), Error> {
    const ADOPTING: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_proc p \
          JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
         WHERE n.nspname = $1 AND p.proname = 'announce_insert')";
    let adopting: bool = sqlx::query_scalar(ADOPTING)
        .persistent(false)
        .bind(schema.name())
        .fetch_one(&mut *connection)
        .await
        .map_err(|failed| error(&failed))?;
    if !adopting {
        return Ok(());
    }
    match others_ended(connection, limit).await? {
        true => drop_trigger(connection, schema, limit).await,
        false => Ok(()),
    }
}

/// Whether the transactions of other sessions that run now have ended within `limit`.
async fn others_ended(connection: &mut PgConnection, limit: Duration) -> Result<bool, Error> {
    let give_up = Instant::now() + limit;
    let before = running(connection).await?;
    while !before.is_empty() {
        let now = running(connection).await?;
        if !before.iter().any(|one| now.contains(one)) {
            break;
        }
        if Instant::now() > give_up {
            return Ok(false);
        }
        sleep(PAUSE).await;
    }
    Ok(true)
}

/// The transactions of other sessions of this database, as their virtual ids.
async fn running(connection: &mut PgConnection) -> Result<Vec<String>, Error> {
    const RUNNING: &str = "SELECT l.virtualtransaction FROM pg_catalog.pg_locks l \
          JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid \
          JOIN pg_catalog.pg_database d ON d.oid = a.datid \
         WHERE l.locktype = 'virtualxid' AND l.pid <> pg_backend_pid() \
           AND d.datname = current_database()";
    sqlx::query_scalar(RUNNING)
        .persistent(false)
        .fetch_all(connection)
        .await
        .map_err(|failed| error(&failed))
}

async fn drop_trigger(
    connection: &mut PgConnection,
    schema: &Schema,
    limit: Duration,
) -> Result<(), Error> {
    let begun = connection.begin_with(BEGIN).await;
    let mut transaction = begun.map_err(|failed| error(&failed))?;
    // Two processes that drop the same trigger could wait for each other.
    let locked = schema.lock(&mut transaction).await;
    locked.map_err(|failed| error(&failed))?;
    let sql = lock_timeout(limit) + &schema.qualify(adoption!("end"));
    let dropped = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction);
    match dropped.await {
        Ok(_) => transaction.commit().await.map_err(|failed| error(&failed)),
        Err(failed) => match timed_out(error(&failed), limit) {
            // A long transaction has begun since. The next connect tries again.
            Error::Fault(Fault::TimedOut { .. }) => Ok(()),
            failed => Err(failed),
        },
    }
}
