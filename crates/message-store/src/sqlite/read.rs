//! Queries for messages, on any connection.

use rusqlite::{CachedStatement, Connection};

use super::error::Failure;
use super::place::check;
use super::row::{RowReader, stored, stream_name};
use super::statements;
use crate::{Category, CategoryRead, ConsumerGroup, RecordedMessage, StreamName, StreamRead};

/// Maximum capacity reserved before any row is read, since a caller may pass a huge `batch_size`.
const MAX_RESERVED: u64 = 128;

pub(super) fn stream(
    connection: &Connection,
    stream: &StreamName,
    read: StreamRead,
) -> Result<Vec<RecordedMessage>, Failure> {
    check(connection, read.handled)?;
    let mut select = connection.prepare_cached(statements::STREAM)?;
    select.raw_bind_parameter(1, stream.as_str())?;
    select.raw_bind_parameter(2, stored(read.position.get()))?;
    select.raw_bind_parameter(3, limit(read.batch_size))?;
    collect(select, read.batch_size, None)
}

pub(super) fn category(
    connection: &Connection,
    category: &Category,
    read: &CategoryRead,
) -> Result<Vec<RecordedMessage>, Failure> {
    check(connection, read.handled)?;
    let position = stored(read.position.get());
    // Messages of other members are filtered out in `collect`, so SQL must not apply the limit.
    let limit = match read.consumer_group {
        Some(_) => -1,
        None => limit(read.batch_size),
    };
    let select = match (category.is_all(), read.correlation.is_all()) {
        (true, true) => bind_all(connection, statements::ALL, position, limit)?,
        (true, false) => {
            let mut select = bind_all(connection, statements::ALL_CORRELATED, position, limit)?;
            select.raw_bind_parameter(3, read.correlation.as_str())?;
            select
        }
        (false, true) => bind(connection, statements::CATEGORY, category, position, limit)?,
        (false, false) => {
            let mut select = bind(
                connection,
                statements::CORRELATED,
                category,
                position,
                limit,
            )?;
            select.raw_bind_parameter(4, read.correlation.as_str())?;
            select
        }
    };
    collect(select, read.batch_size, read.consumer_group)
}

fn bind_all<'c>(
    connection: &'c Connection,
    statement: &str,
    position: i64,
    limit: i64,
) -> rusqlite::Result<CachedStatement<'c>> {
    let mut select = connection.prepare_cached(statement)?;
    select.raw_bind_parameter(1, position)?;
    select.raw_bind_parameter(2, limit)?;
    Ok(select)
}

fn bind<'c>(
    connection: &'c Connection,
    statement: &str,
    category: &Category,
    position: i64,
    limit: i64,
) -> rusqlite::Result<CachedStatement<'c>> {
    let mut select = connection.prepare_cached(statement)?;
    select.raw_bind_parameter(1, category.as_str())?;
    select.raw_bind_parameter(2, position)?;
    select.raw_bind_parameter(3, limit)?;
    Ok(select)
}

/// Runs a bound statement and collects up to `batch_size` messages of the group.
fn collect(
    mut select: CachedStatement<'_>,
    batch_size: Option<u64>,
    group: Option<ConsumerGroup>,
) -> Result<Vec<RecordedMessage>, Failure> {
    let limit = batch_size.unwrap_or(u64::MAX);
    let mut messages = Vec::with_capacity(limit.min(MAX_RESERVED) as usize);
    let mut reader = RowReader::default();
    let mut rows = select.raw_query();
    while (messages.len() as u64) < limit {
        let Some(row) = rows.next()? else { break };
        if let Some(group) = group
            && !group.includes(stream_name(row)?)
        {
            continue;
        }
        messages.push(reader.message(row)?);
    }
    Ok(messages)
}

pub(super) fn last(
    connection: &Connection,
    stream: &StreamName,
    message_type: Option<&str>,
) -> Result<Option<RecordedMessage>, Failure> {
    let mut select = connection.prepare_cached(match message_type {
        Some(_) => statements::LAST_OF_TYPE,
        None => statements::LAST,
    })?;
    select.raw_bind_parameter(1, stream.as_str())?;
    if let Some(message_type) = message_type {
        select.raw_bind_parameter(2, message_type)?;
    }
    Ok(collect(select, Some(1), None)?.pop())
}

/// SQLite's form of a limit: a negative number means none.
fn limit(batch_size: Option<u64>) -> i64 {
    batch_size.map_or(-1, stored)
}
