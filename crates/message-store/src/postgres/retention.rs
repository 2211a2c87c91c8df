//! Deletes old messages.
//!
//! Invariant: deletion takes a stream's messages from the front and keeps the last one, so
//! positions have no gap and the version stays known (tests: the conformance suite's retention
//! cases in `tests/it/postgres/conformance.rs`).

use std::time::{SystemTime, UNIX_EPOCH};

use postgres_store::{Bound, Column, Element};

use super::PostgresStore;
use super::read::number;
use super::row::POSTGRES_EPOCH_US;
use crate::{Category, Error, ListStreams, Position, StreamName};

/// Streams per transaction.
const STREAMS_PER_TRANSACTION: u64 = 500;
/// Messages per transaction, as in SQLite. So a step ends within the time limit of a call, however long
/// a stream is, and what the steps before it have deleted stays deleted.
const MESSAGES_PER_TRANSACTION: i64 = 2_048;

impl PostgresStore {
    pub(super) async fn truncate(
        &self,
        stream: &StreamName,
        before: Position,
    ) -> Result<u64, Error> {
        let statement = || {
            sqlx::query(self.shared.statements.truncate.clone())
                .bind(stream.as_str())
                .bind(number(before.get()))
        };
        self.delete_in_steps(statement).await
    }

    /// Runs a statement that deletes the number of messages in its last parameter at most, until it
    /// has deleted all that it can.
    async fn delete_in_steps(
        &self,
        statement: impl Fn() -> Bound<'static> + Send + Sync,
    ) -> Result<u64, Error> {
        let mut deleted = 0;
        loop {
            let step = statement().bind(MESSAGES_PER_TRANSACTION);
            let gone = self.readers()?.primary().execute(step).await?;
            deleted += gone;
            if gone < MESSAGES_PER_TRANSACTION.unsigned_abs() {
                return Ok(deleted);
            }
        }
    }

    pub(super) async fn expire(
        &self,
        category: &Category,
        before: SystemTime,
    ) -> Result<u64, Error> {
        let mut deleted = 0;
        let mut list = ListStreams::new()
            .prefix(category.as_str())
            .limit(STREAMS_PER_TRANSACTION);
        loop {
            let page = self.streams(&list).await?;
            let Some(last) = page.last() else {
                return Ok(deleted);
            };
            list = list.after(last.stream_name.as_str());
            let names = page.iter().map(|stream| stream.stream_name.as_str());
            // The prefix also matches longer category names.
            let names = names.filter(|name| category.includes(name));
            deleted += self.expire_streams(names, before).await?;
        }
    }

    async fn expire_streams(
        &self,
        names: impl Iterator<Item = &str>,
        before: SystemTime,
    ) -> Result<u64, Error> {
        let mut column = Column::new(Element::Text);
        names.for_each(|name| column.push(name.as_bytes()));
        let statement = || {
            sqlx::query(self.shared.statements.expire.clone())
                .bind(&column)
                .bind(Timestamp(before))
        };
        self.delete_in_steps(statement).await
    }
}

/// A parameter of type `timestamp`.
struct Timestamp(SystemTime);

impl Timestamp {
    /// Microseconds since 2000-01-01. Times before PostgreSQL's first year become `-infinity`.
    fn postgres_us(&self) -> i64 {
        const FIRST_US: i64 = -211_813_488_000_000_000;
        let micros =
            |distance: std::time::Duration| i64::try_from(distance.as_micros()).unwrap_or(i64::MAX);
        let unix_us = match self.0.duration_since(UNIX_EPOCH) {
            Ok(after) => micros(after),
            Err(before) => -micros(before.duration()),
        };
        match unix_us.saturating_sub(POSTGRES_EPOCH_US) {
            postgres_us @ FIRST_US.. => postgres_us,
            _ => i64::MIN,
        }
    }
}

impl sqlx::Type<sqlx::Postgres> for Timestamp {
    fn type_info() -> sqlx::postgres::PgTypeInfo {
        const TIMESTAMP: u32 = 1114;
        sqlx::postgres::PgTypeInfo::with_oid(sqlx::postgres::types::Oid(TIMESTAMP))
    }
}

impl sqlx::Encode<'_, sqlx::Postgres> for Timestamp {
    fn encode_by_ref(
        &self,
        buffer: &mut sqlx::postgres::PgArgumentBuffer,
    ) -> Result<sqlx::encode::IsNull, sqlx::error::BoxDynError> {
        buffer.extend_from_slice(&self.postgres_us().to_be_bytes());
        Ok(sqlx::encode::IsNull::No)
    }
}
