//! The keys in the file's tag index: whether each event has its keys, and how they are built again.
//!
//! A copy of the tables may leave `dcb_event_tag` out, because its name does not tell that it decides.
//! Reads by tag would find nothing, and every condition would hold.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension as _, Result, Row, Transaction, TransactionBehavior};

use super::config::Config;
use super::error::error;
use super::session::{self, deadline, retry};
use super::statements::{
    DELETE_STATES, EMPTY_TAG_INDEX, HEAD, INDEX_END_AND_HEAD, INSERT_TAG, IS_INDEXED,
    REPLACE_INDEX_END, TAGS_AFTER, TYPES_AND_TAGS,
};
use super::{row, schema};
use crate::{Error, KeyCheck};

/// The number of events, or of keys, in one transaction of a check.
const PART: i64 = 10_000;
/// The number of keys that a rebuild sorts before it inserts them. 16 MB.
const SORTED_KEYS: usize = 1 << 20;

/// Compares all events with their keys in the file, and changes nothing. Opening a log and `health` only
/// look at the first and the last event whose keys are in the file, so keys that are missing in the
/// middle of the log are found only here.
///
/// Calls `progress` after each 10,000 events and then after each 10,000 keys; `Break` ends the check
/// early. Costs an index look-up for each key, and one of its event for each stored key, and blocks its
/// thread. Each part is a read transaction, so the log may be in use. Events whose keys are not in the file yet need none there.
///
/// ```
/// # fn main() -> Result<(), dcb_core::Error> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("log.db");
/// use std::ops::ControlFlow;
///
/// use dcb_core::sqlite::{BlockingSqliteStore, Config, check_keys, rebuild_keys};
///
/// let config = Config::file(path);
/// # BlockingSqliteStore::open(config.clone())?.close();
/// let found = check_keys(&config, |so_far| {
///     println!("{} of {} events", so_far.events, so_far.total_events);
///     ControlFlow::Continue(())
/// })?;
/// if !found.is_clean() {
///     rebuild_keys(&config)?;
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::KeysMissing`] if the end of the index is lost or lies beyond the log;
/// [`Fault::SchemaChanged`](crate::Fault) if the file has no log; [`Fault::Unreachable`](crate::Fault)
/// or [`Fault::Refused`](crate::Fault) from SQLite.
pub fn check_keys(
    config: &Config,
    mut progress: impl FnMut(&KeyCheck) -> ControlFlow<()>,
) -> Result<KeyCheck, Error> {
    let config = config.clone().normalized()?;
    let connection = session::open_to_read(&config)?;
    schema::verify(&connection, &config)?;
    if let Some(missing) = beyond_ends(&connection).map_err(|failed| error(&failed))? {
        return Err(keys_missing(&config, missing));
    }
    compare(&connection, &mut progress).map_err(|failed| error(&failed))
}

/// Builds the keys in the file again, from the events. Call it after [`Error::KeysMissing`], or if
/// [`check_keys`] finds a difference.
///
/// Runs in one transaction, so a call that fails or is killed changes nothing. Holds the file's write
/// lock meanwhile: appends of every process fail with [`Fault::Locked`](crate::Fault) if it takes longer
/// than their time limit. Reads go on. Costs an insert for each key of each event, and blocks its thread;
/// the `-wal` file grows to the size of the index.
///
/// Deletes the states of decisions that the file keeps ([`Projector::keep_stored`]). A store that is open
/// meanwhile may remember boundaries without the events whose keys were missing. Call [`Lanes::forget`](crate::Lanes::forget) on it afterwards, or open it again.
///
/// Names, seats and the like may have been taken twice while keys were missing. This function can't
/// tell; read the events of such tags afterwards.
///
/// [`Projector::keep_stored`]: crate::Projector::keep_stored
///
/// # Errors
/// [`Fault::Locked`](crate::Fault) if another process holds the write lock for longer than
/// `write_timeout`; [`Fault::ReadOnlyFile`](crate::Fault); [`Fault::DiskFull`](crate::Fault);
/// [`Fault::FileMoved`](crate::Fault); [`Fault::SchemaChanged`](crate::Fault);
/// [`Fault::Unreachable`](crate::Fault) or [`Fault::Refused`](crate::Fault) from SQLite.
pub fn rebuild_keys(config: &Config) -> Result<(), Error> {
    let config = config.clone().normalized()?;
    config.refuse_read_only()?;
    let connection = session::writer(&config)?;
    let file = config.opened()?;
    schema::ensure(&connection, &config)?;
    let begun = retry(deadline(config.write_timeout), || {
        Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)
    });
    let transaction = begun.map_err(|failed| error(&failed))?;
    rebuild(&transaction).map_err(|failed| error(&failed))?;
    if let Some(file) = file {
        file.check()?;
    }
    transaction.commit().map_err(|failed| error(&failed))
}

/// Fails if the index in the file does not end within the log, or if its first or last event lacks a
/// key.
pub(super) fn require_at_ends(connection: &Connection, config: &Config) -> Result<(), Error> {
    match missing_at_ends(connection).map_err(|failed| error(&failed))? {
        None => Ok(()),
        Some(missing) => Err(keys_missing(config, missing)),
    }
}

fn keys_missing(config: &Config, missing: String) -> Error {
    Error::KeysMissing {
        log: config.name(),
        missing,
        remedy: "dcb_core::sqlite::rebuild_keys",
    }
}

fn missing_at_ends(connection: &Connection) -> Result<Option<String>> {
    let snapshot = connection.unchecked_transaction()?;
    if let Some(missing) = beyond_ends(&snapshot)? {
        return Ok(Some(missing));
    }
    let (through, _) = index_end_and_head(&snapshot)?.unwrap_or_default();
    for position in [1, through] {
        if position <= through && count_missing(&snapshot, position - 1, position)?.0 > 0 {
            return Ok(Some(format!(
                "the event at position {position} has no keys in dcb_event_tag"
            )));
        }
    }
    Ok(None)
}

/// The fault of the recorded end of the index; `None` if it is right.
fn beyond_ends(connection: &Connection) -> Result<Option<String>> {
    Ok(match index_end_and_head(connection)? {
        None => Some("dcb_indexed has no row".to_owned()),
        Some((through, head)) if through > head => Some(format!(
            "the keys end at position {through}, the log at position {head}"
        )),
        Some(_) => None,
    })
}

fn index_end_and_head(connection: &Connection) -> Result<Option<(i64, i64)>> {
    let mut statement = connection.prepare_cached(INDEX_END_AND_HEAD)?;
    let ends = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, Option<i64>>(2)?.unwrap_or(0)));
    statement.query_row([], ends).optional()
}

fn compare(
    connection: &Connection,
    progress: &mut impl FnMut(&KeyCheck) -> ControlFlow<()>,
) -> Result<KeyCheck> {
    let total = head(connection)?;
    let mut check = KeyCheck::of(total);
    for after in (0..total).step_by(PART as usize) {
        let snapshot = connection.unchecked_transaction()?;
        // Another process may move more keys into the file between two parts.
        let (indexed, _) = index_end_and_head(&snapshot)?.unwrap_or_default();
        let through = total.min(after + PART);
        let (missing, first) = count_missing(&snapshot, after, through.min(indexed))?;
        check.add_events(through, missing, first);
        if progress(&check).is_break() {
            return Ok(check);
        }
    }
    // Sorts before every row, because positions begin at 1.
    let mut last = Some((i64::MIN, 0));
    while let Some(after) = last {
        let snapshot = connection.unchecked_transaction()?;
        last = compare_keys(&snapshot, after, &mut check)?;
        if progress(&check).is_break() {
            break;
        }
    }
    Ok(check)
}

/// The number of keys that the events with `after < position <= through` lack, and the first such event.
fn count_missing(connection: &Connection, after: i64, through: i64) -> Result<(u64, Option<i64>)> {
    let mut events = connection.prepare_cached(TYPES_AND_TAGS)?;
    let mut is_indexed = connection.prepare_cached(IS_INDEXED)?;
    let (mut missing, mut first) = (0, None);
    let mut rows = events.query((after, through))?;
    while let Some(event) = rows.next()? {
        let position = row::position(event)?;
        for key in keys(event)? {
            if !is_indexed.exists((key, position))? {
                missing += 1;
                first = first.or(Some(position));
            }
        }
    }
    Ok((missing, first))
}

/// Looks up a part of the rows of the index among the events. Returns the last row, `None` at the end of
/// the index.
fn compare_keys(
    connection: &Connection,
    after: (i64, i64),
    check: &mut KeyCheck,
) -> Result<Option<(i64, i64)>> {
    let (indexed, _) = index_end_and_head(connection)?.unwrap_or_default();
    let mut index = connection.prepare_cached(TAGS_AFTER)?;
    let mut events = connection.prepare_cached(TYPES_AND_TAGS)?;
    let mut rows = index.query((after.0, after.1, PART))?;
    let (mut count, mut stray, mut last) = (0, 0, None);
    while let Some(found) = rows.next()? {
        let (key, position): (i64, i64) = (found.get(0)?, found.get(1)?);
        (count, last) = (count + 1, Some((key, position)));
        // Later rows don't count: another process is moving them, or was killed while it did.
        if position <= indexed {
            let mut event = events.query((position - 1, position))?;
            let keys = event.next()?.map(keys).transpose()?;
            stray += u64::from(!keys.unwrap_or_default().contains(&key));
        }
    }
    check.add_keys(count, stray);
    Ok(last)
}

fn rebuild(transaction: &Connection) -> Result<()> {
    transaction.execute(EMPTY_TAG_INDEX, [])?;
    let head = head(transaction)?;
    let mut events = transaction.prepare(TYPES_AND_TAGS)?;
    let mut rows = events.query((0, head))?;
    let mut pairs = Vec::new();
    while let Some(event) = rows.next()? {
        let position = row::position(event)?;
        pairs.extend(keys(event)?.into_iter().map(|key| (key, position)));
        if pairs.len() >= SORTED_KEYS {
            insert(transaction, &mut pairs)?;
        }
    }
    insert(transaction, &mut pairs)?;
    transaction.execute(REPLACE_INDEX_END, [head])?;
    // They may be folds without the events whose keys were missing.
    transaction.execute(DELETE_STATES, [])?;
    Ok(())
}

/// Inserts the pairs in the order of the index, so that each page is written once.
fn insert(transaction: &Connection, pairs: &mut Vec<(i64, i64)>) -> Result<()> {
    pairs.sort_unstable();
    let mut insert = transaction.prepare_cached(INSERT_TAG)?;
    for pair in pairs.drain(..) {
        insert.execute(pair)?;
    }
    Ok(())
}

/// The keys of the event in a row of [`TYPES_AND_TAGS`], each once.
fn keys(event: &Row<'_>) -> Result<Vec<i64>> {
    let mut keys = Vec::new();
    row::for_each_key(event, 1, 2, |key| keys.push(key))?;
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

fn head(connection: &Connection) -> Result<i64> {
    let head: Option<i64> = connection.query_row(HEAD, [], |row| row.get(0))?;
    Ok(head.unwrap_or(0))
}
