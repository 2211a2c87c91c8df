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
use crate::{Category, Error, Fault, ListStreams, Position, StreamName};

/// Streams per transaction.
const STREAMS_PER_TRANSACTION: u64 = 500;
/// Messages per transaction at first, as in SQLite. The deletions of earlier steps stay.
const MESSAGES_PER_TRANSACTION: i64 = 2_048;

/// A deletion in steps of one transaction each.
struct Steps<'s> {
    store: &'s PostgresStore,
    /// The next step deletes at most this many messages.
    most: i64,
    deleted: u64,
}

impl<'s> Steps<'s> {
    fn new(store: &'s PostgresStore) -> Self {
        Self {
            store,
            most: MESSAGES_PER_TRANSACTION,
            deleted: 0,
        }
    }

    /// Runs a statement that deletes the number of messages in its last parameter at most, until it
    /// has deleted all that it can.
    ///
    /// Large messages may exceed the time limit of a step, which then deletes nothing. The next steps
    /// are smaller. A step that waits for a lock fails too, so the call ends after seven time limits.
    async fn run(
        &mut self,
        statement: impl Fn() -> Bound<'static> + Send + Sync,
    ) -> Result<(), Error> {
        loop {
            let step = statement().bind(self.most);
            match self.store.readers()?.primary().execute(step).await {
                Ok(deleted) => {
                    self.deleted += deleted;
                    if deleted < self.most.unsigned_abs() {
                        return Ok(());
                    }
                }
                Err(Error::Fault(Fault::TimedOut { .. })) if self.most > 1 => {
                    self.most = (self.most / 4).max(1);
                }
                Err(failed) => return Err(failed),
            }
        }
    }
}

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
        let mut steps = Steps::new(self);
        steps.run(statement).await?;
        Ok(steps.deleted)
    }

    pub(super) async fn expire(
        &self,
        category: &Category,
        before: SystemTime,
    ) -> Result<u64, Error> {
        let mut steps = Steps::new(self);
        let mut list = ListStreams::new()
            .prefix(category.as_str())
            .limit(STREAMS_PER_TRANSACTION);
        loop {
            let page = self.streams(&list).await?;
            let Some(last) = page.last() else {
                return Ok(steps.deleted);
            };
            list = list.after(last.stream_name.as_str());
            let names = page.iter().map(|stream| stream.stream_name.as_str());
            // The prefix also matches longer category names.
            let names = names.filter(|name| category.includes(name));
            let mut column = Column::new(Element::Text);
            names.for_each(|name| column.push(name.as_bytes()));
            let statement = || {
                sqlx::query(self.shared.statements.expire.clone())
                    .bind(&column)
                    .bind(Timestamp(before))
            };
            steps.run(statement).await?;
        }
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
