//! Lists streams and categories.

use rusqlite::{Connection, OptionalExtension};

use super::error::Failure;
use super::statements;
use super::transaction::Transaction;
use crate::time::from_us;
use crate::{CategoryInfo, ListStreams, Position, StoreInfo, StreamInfo};

/// Lists a page of streams in one snapshot. Each stream costs two index searches, independent of
/// its length.
pub(super) fn streams(
    connection: &Connection,
    list: &ListStreams,
) -> Result<Vec<StreamInfo>, Failure> {
    let snapshot = Transaction::snapshot(connection)?;
    let mut streams = Vec::new();
    let mut next = first_name(connection, list)?;
    while let Some(stream_name) = next {
        if streams.len() as u64 == list.limit || !stream_name.starts_with(&list.prefix) {
            break;
        }
        next = name(connection, statements::NAME_AFTER, &stream_name)?;
        streams.push(stream_info(connection, stream_name)?);
    }
    snapshot.commit()?;
    Ok(streams)
}

/// The first name of the page. It sorts at or after the prefix, and after the last name of the
/// previous page.
fn first_name(connection: &Connection, list: &ListStreams) -> Result<Option<String>, Failure> {
    match &list.after {
        // If `after` sorts before the prefix, start at the prefix: the next name after `after` may
        // lack the prefix.
        Some(after) if *after >= list.prefix => name(connection, statements::NAME_AFTER, after),
        _ => name(connection, statements::NAME_FROM, &list.prefix),
    }
}

/// Runs a statement that finds at most one stream name.
pub(super) fn name(
    connection: &Connection,
    statement: &str,
    bound: &str,
) -> Result<Option<String>, Failure> {
    let mut select = connection.prepare_cached(statement)?;
    Ok(select.query_row([bound], |row| row.get(0)).optional()?)
}

fn stream_info(connection: &Connection, stream_name: String) -> Result<StreamInfo, Failure> {
    let (position, time_us) = connection
        .prepare_cached(statements::STREAM_INFO)?
        .query_row([&stream_name], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })?;
    Ok(StreamInfo {
        stream_name,
        version: Position::new(position.unsigned_abs()),
        last_activity: from_us(time_us),
    })
}

pub(super) fn categories(connection: &Connection) -> Result<Vec<CategoryInfo>, Failure> {
    let mut select = connection.prepare_cached(statements::CATEGORIES)?;
    let categories = select.query_map([], |row| {
        Ok(CategoryInfo {
            category: row.get(0)?,
            stream_count: row.get::<_, i64>(1)?.unsigned_abs(),
            message_count: row.get::<_, i64>(2)?.unsigned_abs(),
        })
    })?;
    Ok(categories.collect::<Result<_, _>>()?)
}

pub(super) fn info(connection: &Connection) -> Result<StoreInfo, Failure> {
    let mut select = connection.prepare_cached(statements::INFO)?;
    Ok(select.query_row([], |row| {
        Ok(StoreInfo {
            stream_count: row.get::<_, i64>(0)?.unsigned_abs(),
            message_count: row.get::<_, i64>(1)?.unsigned_abs(),
            last_activity: row.get::<_, Option<i64>>(2)?.map(from_us),
        })
    })?)
}
