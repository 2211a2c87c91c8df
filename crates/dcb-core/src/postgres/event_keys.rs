//! The keys in `dcb.event_tag`: whether each event has its keys, and how they are built again.
//!
//! A restore or a publication may leave that table out, because its name does not tell that it
//! decides. Reads by tag would find nothing, and every condition would hold.

use std::ops::ControlFlow;

use postgres_store::{Readers, Schema};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use super::PostgresStore;
use super::config::Config;
use super::design::schema;
use super::error::error;
use crate::{Error, KeyCheck};

const AT_ENDS: &str = include_str!("../../schema/postgres/queries/keys_missing_at_ends.sql");
const MISSING: &str = include_str!("../../schema/postgres/queries/keys_missing.sql");
const STRAY: &str = include_str!("../../schema/postgres/queries/keys_stray.sql");
const DELETE_STRAY: &str = include_str!("../../schema/postgres/queries/delete_stray_keys.sql");
const INSERT_MISSING: &str = include_str!("../../schema/postgres/queries/insert_missing_keys.sql");
const LOCK: &str = include_str!("../../schema/postgres/queries/lock_log.sql");
/// A task that would store a state waits for the lock, so it folds what this transaction leaves.
const LOCK_STATES: &str = "LOCK TABLE dcb.kept_state IN SHARE ROW EXCLUSIVE MODE";
const DELETE_STATES: &str = "DELETE FROM dcb.kept_state";
const HEAD: &str = "SELECT coalesce(max(position), 0) FROM dcb.event";

/// The number of events, or of keys, in a statement of a check.
const PART: i64 = 10_000;

/// Compares all events with their keys in `event_tag`, and changes nothing. [`PostgresStore::connect`]
/// and `health` only look at the first and the last event that have tags, so keys that are missing in
/// the middle of the log are found only here.
///
/// Calls `progress` after each 10,000 events and then after each 10,000 keys; `Break` ends the check
/// early. Dropping the future ends it too. Costs an index look-up for each key, and one of its event for
/// each stored key: about 50 us an event with two tags (PostgreSQL 15, 300,000 events). Each statement is
/// short, holds no lock that appends wait for, and sees events and keys of the same moment, so the log may
/// be in use.
///
/// ```no_run
/// # async fn check() -> Result<(), dcb_core::Error> {
/// use std::ops::ControlFlow;
///
/// use dcb_core::postgres::{Config, check_keys, rebuild_keys};
///
/// let config = Config::new("postgres://app@localhost/events");
/// let found = check_keys(&config, |so_far| {
///     println!("{} of {} events", so_far.events, so_far.total_events);
///     ControlFlow::Continue(())
/// });
/// if !found.await?.is_clean() {
///     rebuild_keys(&config).await?;
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::Invalid`] with field `url` or `schema`; [`Fault::Unreachable`](crate::Fault) or
/// [`Fault::Refused`](crate::Fault) if the database fails or the schema is missing.
pub async fn check_keys(
    config: &Config,
    mut progress: impl FnMut(&KeyCheck) -> ControlFlow<()>,
) -> Result<KeyCheck, Error> {
    let schema = schema(&config.schema)?;
    let (mut connection, watch) = config.administrator::<Error>().await?;
    let checking = async {
        let head = head(&mut connection, &schema).await?;
        let mut check = KeyCheck::of(head);
        let compared = compare_events(&mut connection, &schema, head, &mut check, &mut progress);
        if compared.await?.is_continue() {
            compare_keys(&mut connection, &schema, &mut check, &mut progress).await?;
        }
        Ok::<_, Error>(check)
    };
    let check = watch.over(checking).await?;
    // If the message does not arrive, the server ends the session when the socket closes.
    let _ = connection.close().await;
    Ok(check)
}

/// Gives each event its keys in `event_tag`, and deletes the keys that belong to no event. Call it after
/// [`Error::KeysMissing`], or if [`check_keys`] finds a difference.
///
/// Runs in one transaction, so a call that fails or is dropped changes nothing. Holds the log's lock
/// meanwhile: appends of every process wait, and fail with [`Fault::TimedOut`](crate::Fault) if it
/// takes longer than their time limit. Reads go on, and see the keys once all are there. Costs as much
/// as [`check_keys`], and an insert for each missing key.
///
/// Deletes the states of decisions that the schema keeps ([`Projector::keep_stored`]). A store that is open
/// meanwhile may remember boundaries without the events whose keys were missing. Call [`Lanes::forget`](crate::Lanes::forget) on it afterwards, or open it again.
///
/// Names, seats and the like may have been taken twice while keys were missing. This function can't
/// tell; read the events of such tags afterwards.
///
/// [`Projector::keep_stored`]: crate::Projector::keep_stored
///
/// # Errors
/// [`Error::Invalid`] with field `url` or `schema`; [`Fault::Unreachable`](crate::Fault) or
/// [`Fault::Refused`](crate::Fault) if the database fails, the schema is missing, or the role may not
/// INSERT and DELETE in `event_tag`.
pub async fn rebuild_keys(config: &Config) -> Result<(), Error> {
    let schema = schema(&config.schema)?;
    let (mut connection, watch) = config.administrator::<Error>().await?;
    let rebuilding = async {
        let begun = watch.begin(&mut connection).await;
        let mut transaction = begun.map_err(|failed| error(&failed))?;
        // A role or a database may limit statements, and this is a long one.
        execute(&mut transaction, "SET LOCAL statement_timeout = 0", &[]).await?;
        // A separate statement, so that the next ones see what was committed before the lock was
        // granted.
        execute(&mut transaction, &schema.qualify(LOCK), &[]).await?;
        for statement in [LOCK_STATES, DELETE_STATES] {
            execute(&mut transaction, &schema.qualify(statement), &[]).await?;
        }
        execute(&mut transaction, &schema.qualify(DELETE_STRAY), &[]).await?;
        let insert = schema.qualify(INSERT_MISSING);
        for (after, through) in parts(head(&mut transaction, &schema).await?) {
            execute(&mut transaction, &insert, &[after, through]).await?;
        }
        let committed = transaction.commit().await;
        committed.map_err(|failed| error(&failed))
    };
    watch.over(rebuilding).await?;
    let _ = connection.close().await;
    Ok(())
}

/// Fails if the first or the last event that has tags lacks a key.
pub(super) async fn require_at_ends(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<(), Error> {
    let missing = row(connection, &schema.qualify(AT_ENDS), &[]).await?;
    refuse_missing(schema.name(), get(&missing, 0)?)
}

impl PostgresStore {
    /// As [`require_at_ends`], on a connection of these readers.
    pub(super) async fn require_keys_at_ends(&self, readers: Readers<Error>) -> Result<(), Error> {
        let name = &self.shared.config.schema;
        let sql = schema(name)?.qualify(AT_ENDS);
        let statement = || sqlx::query(AssertSqlSafe(sql.clone())).persistent(false);
        match readers.rows(statement).await?.first() {
            Some(row) => refuse_missing(name, get(row, 0)?),
            None => Ok(()),
        }
    }
}

fn refuse_missing(schema: &str, position: Option<i64>) -> Result<(), Error> {
    match position {
        None => Ok(()),
        Some(position) => Err(Error::KeysMissing {
            log: schema.to_owned(),
            missing: format!("the event at position {position} has no keys in {schema}.event_tag"),
            remedy: "dcb_core::postgres::rebuild_keys",
        }),
    }
}

async fn compare_events(
    connection: &mut PgConnection,
    schema: &Schema,
    head: i64,
    check: &mut KeyCheck,
    progress: &mut impl FnMut(&KeyCheck) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Error> {
    let sql = schema.qualify(MISSING);
    for (after, through) in parts(head) {
        let found = row(connection, &sql, &[after, through]).await?;
        let missing: i64 = get(&found, 0)?;
        check.add_events(through, missing.unsigned_abs(), get(&found, 1)?);
        if progress(check).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

async fn compare_keys(
    connection: &mut PgConnection,
    schema: &Schema,
    check: &mut KeyCheck,
    progress: &mut impl FnMut(&KeyCheck) -> ControlFlow<()>,
) -> Result<(), Error> {
    let sql = schema.qualify(STRAY);
    // Sorts before every row, because positions begin at 1.
    let mut last = (i64::MIN, 0);
    loop {
        let found = row(connection, &sql, &[last.0, last.1, PART]).await?;
        let (keys, stray): (i64, i64) = (get(&found, 0)?, get(&found, 1)?);
        check.add_keys(keys.unsigned_abs(), stray.unsigned_abs());
        if keys < PART || progress(check).is_break() {
            return Ok(());
        }
        last = (get(&found, 2)?, get(&found, 3)?);
    }
}

/// The bounds of the parts of a log, the first exclusive.
fn parts(head: i64) -> impl Iterator<Item = (i64, i64)> {
    let starts = (0..head).step_by(PART as usize);
    starts.map(move |after| (after, head.min(after + PART)))
}

async fn head(connection: &mut PgConnection, schema: &Schema) -> Result<i64, Error> {
    get(&row(connection, &schema.qualify(HEAD), &[]).await?, 0)
}

async fn execute(connection: &mut PgConnection, sql: &str, bound: &[i64]) -> Result<(), Error> {
    let done = statement(sql, bound).execute(connection).await;
    done.map(drop).map_err(|failed| error(&failed))
}

async fn row(connection: &mut PgConnection, sql: &str, bound: &[i64]) -> Result<PgRow, Error> {
    let row = statement(sql, bound).fetch_one(connection).await;
    row.map_err(|failed| error(&failed))
}

/// The server plans each run with its values, and no pooler keeps the statement.
fn statement(sql: &str, bound: &[i64]) -> postgres_store::Bound<'static> {
    let statement = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(false);
    bound
        .iter()
        .fold(statement, |statement, &value| statement.bind(value))
}

fn get<'r, T: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>>(
    row: &'r PgRow,
    column: usize,
) -> Result<T, Error> {
    row.try_get(column).map_err(|failed| error(&failed))
}
