//! The places of readers in the history: bookmarks and checkpoints.

use rusqlite::{Connection, params};
use uuid::Uuid;

use super::error::Failure;
use super::row::{self, stored};
use super::statements;
use crate::{Bookmark, Checkpoint, GlobalPosition};

/// Checks that the store still has the message that a reader has handled. Costs one search if it has.
///
/// SQLite gives no position twice and leaves none out, so a message that is missing before the head was
/// deleted, or an import left its position out.
pub(super) fn check(connection: &Connection, handled: Option<Bookmark>) -> Result<(), Failure> {
    let Some(handled) = handled else {
        return Ok(());
    };
    let found = match handled.message_id {
        Some(_) => id_at(connection, handled.position)?,
        None => None,
    };
    if found.is_some() && found == handled.message_id {
        return Ok(());
    }
    let head = head(connection)?.map(|head| head.position);
    Ok(handled.check(found, head, head)?)
}

fn id_at(connection: &Connection, position: GlobalPosition) -> Result<Option<Uuid>, Failure> {
    let mut select = connection.prepare_cached(statements::ID_AT)?;
    let mut rows = select.query([stored(position.get())])?;
    let row = rows.next()?;
    let id = row.map(|row| -> Result<Uuid, Failure> { Ok(row::id(row.get_ref(0)?)?) });
    id.transpose()
}

pub(super) fn head(connection: &Connection) -> Result<Option<Bookmark>, Failure> {
    let mut select = connection.prepare_cached(statements::HEAD)?;
    let mut rows = select.raw_query();
    rows.next()?.map(row::bookmark).transpose()
}

pub(super) fn checkpoint(
    connection: &Connection,
    consumer: &str,
) -> Result<Option<Bookmark>, Failure> {
    let mut select = connection.prepare_cached(statements::CHECKPOINT)?;
    let mut rows = select.query([consumer])?;
    rows.next()?.map(row::checkpoint).transpose()
}

pub(super) fn all_checkpoints(connection: &Connection) -> Result<Vec<Checkpoint>, Failure> {
    let mut select = connection.prepare_cached(statements::ALL_CHECKPOINTS)?;
    let (mut rows, mut all) = (select.raw_query(), Vec::new());
    while let Some(row) = rows.next()? {
        all.push(row::checkpoint_of_consumer(row)?);
    }
    Ok(all)
}

/// Saves a checkpoint unless a later one is saved. Returns the saved one.
pub(super) fn save_checkpoint(
    connection: &Connection,
    consumer: &str,
    handled: Bookmark,
) -> Result<Bookmark, Failure> {
    let position = stored(handled.position.get());
    let mut save = connection.prepare_cached(statements::SAVE_CHECKPOINT)?;
    let mut rows = save.query(params![consumer, position, handled.text()])?;
    let saved = rows.next()?.map(row::checkpoint).transpose()?;
    Ok(saved.unwrap_or(handled))
}
