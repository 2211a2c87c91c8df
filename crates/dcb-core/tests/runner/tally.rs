//! A projection that keeps the positions that it was handed, in the order of arrival.

use dcb_core::postgres::{Config, Handler, PgConnection, PostgresReadModel};
use dcb_core::{HandlerError, SequencedEvent};
use sqlx::AssertSqlSafe;

use crate::support::events::{positions, tag};
use crate::support::sql::Sql;

/// The table of what was seen. Nothing in it keeps an event from being taken in twice.
pub(crate) struct Tally {
    schema: String,
    /// Fails once, at this position.
    pub(crate) stumbles_at: Option<u64>,
    /// Does everything, then fails, as often as this.
    pub(crate) refusals: usize,
}

impl Tally {
    pub(crate) fn of(log: &Config) -> Self {
        Self {
            schema: log.schema.clone(),
            stumbles_at: None,
            refusals: 0,
        }
    }

    /// Makes the table.
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

    /// What was taken in, in the order of arrival.
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
            .map(|position| position.parse().expect("a position"))
            .collect()
    }
}

impl Handler for Tally {
    async fn handle(
        &mut self,
        transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        let taken: Vec<i64> = positions(events).iter().map(|own| *own as i64).collect();
        let sql = format!(
            "INSERT INTO {}.seen (position) SELECT unnest($1::bigint[])",
            self.schema
        );
        sqlx::query(AssertSqlSafe(sql))
            .bind(taken)
            .execute(transaction)
            .await?;
        if self
            .stumbles_at
            .take_if(|at| positions(events).contains(at))
            .is_some()
        {
            return Err("stumbled".into());
        }
        if self.refusals > 0 {
            self.refusals -= 1;
            // As if the server had chosen this transaction to give way.
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

/// The positions in the log of the events with the tag `a`.
pub(crate) async fn expected(store: &impl dcb_core::EventStore) -> Vec<u64> {
    positions(&crate::support::events::read(store, &tag("a")).await)
}
