//! A read model that stores the positions of the events it handles, in order of arrival.

use dcb_core::postgres::{Config, Handler, PgConnection, PostgresReadModel};
use dcb_core::{HandlerError, SequencedEvent};
use sqlx::AssertSqlSafe;

use crate::support::events::{positions, tag};
use crate::support::postgres::sql::Sql;

/// The handler. Its table has no unique constraint, so an event that is handled twice shows.
pub(crate) struct Tally {
    schema: String,
    /// The position of an event on which the handler fails once.
    pub(crate) fails_at: Option<u64>,
    /// The number of times that the handler still fails after its writes.
    pub(crate) refusals: usize,
}

impl Tally {
    pub(crate) fn new(log: &Config) -> Self {
        Self {
            schema: log.schema.clone(),
            fails_at: None,
            refusals: 0,
        }
    }

    /// Creates the table.
    pub(crate) async fn install(log: &Config) {
        let mut sql = Sql::connect(&log.url).await;
        let schema = &log.schema;
        sql.run(&format!(
            "CREATE SCHEMA IF NOT EXISTS {schema}; \
             CREATE TABLE {schema}.seen (ordinal bigserial, position bigint NOT NULL)"
        ))
        .await;
        sql.close().await;
    }

    /// The read model `tally` with this handler.
    pub(crate) fn model(self, log: &Config) -> PostgresReadModel<Self> {
        PostgresReadModel::new(log, "tally", self).unwrap()
    }

    /// The stored positions, in order of arrival.
    pub(crate) async fn seen(log: &Config) -> Vec<u64> {
        let mut sql = Sql::connect(&log.url).await;
        let schema = &log.schema;
        let row = sql
            .row(&format!(
                "SELECT coalesce(string_agg(position::text, ' ' ORDER BY ordinal), '') FROM {schema}.seen"
            ))
            .await;
        sql.close().await;
        row[0]
            .split_whitespace()
            .map(|position| position.parse().expect("a number"))
            .collect()
    }
}

impl Handler for Tally {
    async fn handle(
        &mut self,
        transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        let handled: Vec<i64> = positions(events)
            .iter()
            .map(|position| *position as i64)
            .collect();
        let sql = format!(
            "INSERT INTO {}.seen (position) SELECT unnest($1::bigint[])",
            self.schema
        );
        sqlx::query(AssertSqlSafe(sql))
            .bind(handled)
            .execute(transaction)
            .await?;
        if self
            .fails_at
            .take_if(|at| positions(events).contains(at))
            .is_some()
        {
            return Err("handler failed".into());
        }
        if self.refusals > 0 {
            self.refusals -= 1;
            // Looks like a lost connection, which the runner retries.
            return Err(sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into()).into());
        }
        Ok(())
    }

    async fn reset(&mut self, transaction: &mut PgConnection) -> Result<(), HandlerError> {
        let sql = format!("TRUNCATE {}.seen", self.schema);
        sqlx::query(AssertSqlSafe(sql)).execute(transaction).await?;
        Ok(())
    }
}

/// The positions of the events with the tag `a`.
pub(crate) async fn expected(store: &impl dcb_core::EventStore) -> Vec<u64> {
    positions(&crate::support::events::read(store, &tag("a")).await)
}
