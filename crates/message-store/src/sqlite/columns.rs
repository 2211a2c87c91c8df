//! The columns `category` and `correlation`, which are derived from the stream's name and the metadata:
//! whether each message has the right ones, and how they are derived again.
//!
//! Someone who copies the messages with other tools may fill these columns with anything. Reads of a
//! category would miss such messages.

use std::ops::ControlFlow;

use rusqlite::{Connection, Row};

use super::blocking::BlockingSqliteStore;
use super::config::Config;
use super::error::Failure;
use super::request::correlation;
use super::row::{number, text};
use super::transaction::Transaction;
use super::{connection, payload, schema, statements};
use crate::stream_name::category_of;
use crate::{Error, GlobalPosition, Metrics};

/// The number of messages in one statement of a check.
const PART: i64 = 10_000;

/// The messages of a file compared with the columns that are derived from them. From [`check_columns`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnCheck {
    /// The number of messages in the store when the check began.
    pub total_messages: u64,
    /// The number of messages that were compared so far.
    pub messages: u64,
    /// The number of messages whose category or correlation is wrong. Reads of a category miss them, or
    /// return them where they do not belong.
    pub wrong: u64,
    /// The first message with a wrong column.
    pub first_wrong: Option<GlobalPosition>,
}

/// A message with a wrong column, and the right values.
struct Wrong {
    global_position: i64,
    category: String,
    correlation: Option<String>,
}

/// A part of the messages, compared.
struct Part {
    /// The last message, `None` after the last part.
    last: Option<i64>,
    messages: u64,
    wrong: Vec<Wrong>,
}

/// Compares all messages of a file with the columns that are derived from them, and changes nothing.
/// Opening a store and `health` only look at the first and the last message, so a wrong column in the
/// middle is found only here.
///
/// Calls `progress` after each 10,000 messages; `Break` ends the check early. Reads all
/// metadata, and blocks its thread. Each part is one statement, so the store may be in use.
///
/// ```
/// # fn main() -> Result<(), message_store::Error> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("messages.sqlite");
/// use std::ops::ControlFlow;
///
/// use message_store::sqlite::{BlockingSqliteStore, Config, check_columns, rebuild_columns};
///
/// let config = Config::file(path);
/// # BlockingSqliteStore::open(config.clone())?.close();
/// let found = check_columns(&config, |so_far| {
///     println!("{} of {} messages", so_far.messages, so_far.total_messages);
///     ControlFlow::Continue(())
/// })?;
/// if found.wrong > 0 {
///     rebuild_columns(&config)?;
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Fault::SchemaChanged`](crate::Fault) if the file has no store;
/// [`Fault::Unreachable`](crate::Fault) or [`Fault::Refused`](crate::Fault) from SQLite.
pub fn check_columns(
    config: &Config,
    mut progress: impl FnMut(&ColumnCheck) -> ControlFlow<()>,
) -> Result<ColumnCheck, Error> {
    let config = config.clone().normalized()?;
    let (_, connection) = connection::open_to_read(&config)?;
    schema::require_installed(&connection)?;
    let total = connection.query_row(statements::COUNT, [], |row| row.get::<_, i64>(0));
    let mut check = ColumnCheck {
        total_messages: total.map_err(Failure::from)?.unsigned_abs(),
        ..ColumnCheck::default()
    };
    let mut after = 0;
    loop {
        let part = compare(&connection, after)?;
        let Some(last) = part.last else {
            return Ok(check);
        };
        check.add(&part);
        after = last;
        if progress(&check).is_break() {
            return Ok(check);
        }
    }
}

/// Derives the wrong columns of a file again, from the messages. Returns the number of messages that
/// were changed. Call it after [`Error::ColumnsDiffer`], or if [`check_columns`] finds a difference.
///
/// Runs in one transaction, so a call that fails or is killed changes nothing. Holds the file's write
/// lock meanwhile: writes of every process fail with [`Fault::Locked`](crate::Fault) if it takes
/// longer than their time limit. Reads go on. Costs as much as [`check_columns`], and an update for
/// each wrong message; blocks its thread.
///
/// # Errors
/// [`Fault::Locked`](crate::Fault) if another process holds the write lock for longer than
/// `write_timeout`; [`Fault::ReadOnlyFile`](crate::Fault); [`Fault::DiskFull`](crate::Fault);
/// [`Fault::FileMoved`](crate::Fault); [`Error::OutcomeUnknown`] if the commit itself failed: call it
/// again; [`Fault::SchemaChanged`](crate::Fault); [`Fault::Unreachable`](crate::Fault) or
/// [`Fault::Refused`](crate::Fault) from SQLite.
pub fn rebuild_columns(config: &Config) -> Result<u64, Error> {
    let store = BlockingSqliteStore::open_with(config.clone(), Metrics::default(), |_| Ok(()))?;
    let rebuilt = store.shared.writer.change(rebuild);
    store.close();
    rebuilt
}

/// Fails if the first or the last message has a wrong column.
pub(super) fn require_at_ends(connection: &Connection) -> Result<(), Failure> {
    let snapshot = Transaction::snapshot(connection)?;
    for statement in [statements::FIRST_DERIVED, statements::LAST_DERIVED] {
        let mut select = connection.prepare_cached(statement)?;
        let mut rows = select.query([])?;
        let wrong = rows.next()?.map(wrong).transpose()?;
        if let Some(Some(wrong)) = wrong {
            return Err(Failure::Failed(Error::ColumnsDiffer {
                global_position: GlobalPosition::new(wrong.global_position.unsigned_abs()),
                remedy: "message_store::sqlite::rebuild_columns",
            }));
        }
    }
    Ok(snapshot.commit()?)
}

fn rebuild(connection: &Connection) -> Result<u64, Failure> {
    let mut update = connection.prepare(statements::SET_DERIVED)?;
    let (mut after, mut changed) = (0, 0);
    loop {
        let part = compare(connection, after)?;
        for wrong in &part.wrong {
            update.execute((wrong.global_position, &wrong.category, &wrong.correlation))?;
        }
        changed += part.wrong.len() as u64;
        match part.last {
            Some(last) => after = last,
            None => return Ok(changed),
        }
    }
}

/// Compares the next messages after a global position. One statement, so one snapshot.
fn compare(connection: &Connection, after: i64) -> Result<Part, Failure> {
    let mut select = connection.prepare_cached(statements::DERIVED)?;
    let mut rows = select.query((after, PART))?;
    let mut part = Part {
        last: None,
        messages: 0,
        wrong: Vec::new(),
    };
    while let Some(row) = rows.next()? {
        part.last = Some(number(row.get_ref(0)?)?);
        part.messages += 1;
        part.wrong.extend(wrong(row)?);
    }
    Ok(part)
}

/// The right values, if the columns of the row are wrong.
fn wrong(row: &Row<'_>) -> Result<Option<Wrong>, Failure> {
    let category = category_of(text(row.get_ref(1)?)?);
    let mut unpacked = Vec::new();
    let metadata = payload::text(row.get_ref(2)?, &mut unpacked)?;
    let correlation = metadata.and_then(correlation);
    let found_correlation = row.get_ref(4)?.as_str_or_null().ok();
    if text(row.get_ref(3)?)? == category && found_correlation == Some(correlation.as_deref()) {
        return Ok(None);
    }
    Ok(Some(Wrong {
        global_position: number(row.get_ref(0)?)?,
        category: category.to_owned(),
        correlation,
    }))
}

impl ColumnCheck {
    fn add(&mut self, part: &Part) {
        self.messages += part.messages;
        self.wrong += part.wrong.len() as u64;
        let first = part.wrong.first();
        let first = first.map(|wrong| GlobalPosition::new(wrong.global_position.unsigned_abs()));
        self.first_wrong = self.first_wrong.or(first);
    }
}
