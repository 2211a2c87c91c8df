//! The projection `seen` in PostgreSQL.

use std::time::Duration;

use dcb_core::postgres::{
    Config, Handler, PgConnection, PostgresStore, Projections, SlicedReadModel,
};
use dcb_core::{Error, HandlerError, ProjectionStatus, SequencedEvent, SetAside, SlicedModel as _};
use sqlx::AssertSqlSafe;

use super::ground::{ByKey, Ground};
use crate::support::backend::Address;
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log};

#[derive(Clone)]
pub(super) struct Seen {
    schema: String,
    version: u32,
}

impl Seen {
    async fn add(
        &self,
        transaction: &mut PgConnection,
        table: &str,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        let key = |event: &SequencedEvent| event.tag_value("course").unwrap_or("none").to_owned();
        let keys: Vec<String> = events.iter().map(key).collect();
        let sql = format!(
            "INSERT INTO {}.{table} (key, position) SELECT * FROM unnest($1::text[], $2::bigint[])",
            self.schema
        );
        let insert = sqlx::query(AssertSqlSafe(sql))
            .bind(keys)
            .bind(positions(events));
        insert.execute(transaction).await?;
        Ok(())
    }
}

fn positions(events: &[SequencedEvent]) -> Vec<i64> {
    let position = |event: &SequencedEvent| event.position().get() as i64;
    events.iter().map(position).collect()
}

impl Handler for Seen {
    async fn handle(
        &mut self,
        transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        let table = format!("seen_{}", self.version);
        self.add(transaction, &table, events).await?;
        let sql = format!(
            "SELECT EXISTS (SELECT FROM {}.refused WHERE position = ANY ($1))",
            self.schema
        );
        let refuses: bool = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(positions(events))
            .fetch_one(transaction)
            .await?;
        match refuses {
            true => Err("refused".into()),
            false => Ok(()),
        }
    }

    async fn react(
        &mut self,
        transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        self.add(transaction, "reacted", events).await
    }

    async fn make_current(&mut self, transaction: &mut PgConnection) -> Result<(), HandlerError> {
        let Self { schema, version } = self;
        let sql = format!(
            "CREATE OR REPLACE VIEW {schema}.seen AS SELECT * FROM {schema}.seen_{version}"
        );
        sqlx::query(AssertSqlSafe(sql)).execute(transaction).await?;
        Ok(())
    }

    async fn reset(&mut self, transaction: &mut PgConnection) -> Result<(), HandlerError> {
        let Self { schema, version } = self;
        let sql = format!("TRUNCATE {schema}.seen_{version}");
        sqlx::query(AssertSqlSafe(sql)).execute(transaction).await?;
        Ok(())
    }
}

/// A log on a server.
#[derive(Clone)]
pub(super) struct Postgres {
    pub(super) log: Config,
    store: PostgresStore,
}

impl Postgres {
    /// An empty log, with the tables of the projection.
    pub(super) async fn on(log: Config) -> Self {
        let store = connect(&log).await;
        let ground = Self { log, store };
        let table = |name: &str| {
            format!("CREATE TABLE @{name} (ordinal bigserial, key text, position bigint);")
        };
        let tables = ["seen_1", "seen_2", "reacted"].map(table).concat();
        ground
            .run(&(tables + "CREATE TABLE @refused (position bigint)"))
            .await;
        ground
    }

    /// The log and the tables that another process has made.
    pub(super) async fn at(url: &str, schema: &str) -> Self {
        let log = Config::new(url).schema(schema);
        let store = connect(&log).await;
        Self { log, store }
    }

    fn projections(&self) -> Projections {
        Projections::new(&self.log).unwrap()
    }

    fn sql(&self, sql: &str) -> String {
        sql.replace('@', &format!("{}.", self.log.schema))
    }
}

impl Ground for Postgres {
    type Store = PostgresStore;
    type Model = SlicedReadModel<Seen>;

    async fn new() -> Self {
        Self::on(fresh_log().await).await
    }

    fn store(&self) -> &PostgresStore {
        &self.store
    }

    async fn connect(&self) -> PostgresStore {
        connect(&self.log).await
    }

    fn model(&self, version: u32) -> SlicedReadModel<Seen> {
        let handler = Seen {
            schema: self.log.schema.clone(),
            version,
        };
        SlicedReadModel::new(&self.log, "seen", version, handler).unwrap()
    }

    async fn run(&self, sql: &str) {
        let mut session = Sql::connect(&self.log.url).await;
        session.run(&self.sql(sql)).await;
        session.close().await;
    }

    async fn number(&self, sql: &str) -> i64 {
        let mut session = Sql::connect(&self.log.url).await;
        let number = session.number(&self.sql(sql)).await;
        session.close().await;
        number
    }

    async fn of_table(&self, table: &str) -> ByKey {
        let mut session = Sql::connect(&self.log.url).await;
        let rows = self.sql(&format!(
            "SELECT coalesce(string_agg(key || ' ' || position, ',' ORDER BY ordinal), '') \
             FROM @{table}"
        ));
        let rows = session.row(&rows).await;
        session.close().await;
        let mut found = ByKey::new();
        for row in rows[0].split(',').filter(|row| !row.is_empty()) {
            let (key, position) = row.split_once(' ').expect("two columns");
            let positions = found.entry(key.to_owned()).or_default();
            positions.push(position.parse().expect("a number"));
        }
        found
    }

    async fn list(&self) -> Vec<ProjectionStatus> {
        self.projections().list().await.unwrap()
    }

    async fn resume(&self) {
        self.projections().resume("seen", 1).await.unwrap();
    }

    async fn set_aside(&self) -> Vec<SetAside> {
        self.projections().set_aside("seen", 1).await.unwrap()
    }

    async fn resize(&self, version: u32, slices: u32, limit: Duration) -> Result<(), Error> {
        let mut projections = self.projections();
        projections.resize("seen", version, slices, limit).await
    }

    async fn replay(&self, key: &str) -> Result<u64, Error> {
        self.model(1).replay(&self.store, key).await
    }

    async fn promote(&self, version: u32, limit: Duration) -> Result<(), Error> {
        self.model(version).promote(limit).await
    }

    async fn take_over(&self, version: u32, limit: Duration) -> Result<(), Error> {
        self.model(version).take_over(limit).await
    }

    async fn discard(&self, version: u32) {
        self.model(version).discard().await.unwrap();
    }

    fn address(&self) -> Address {
        Address::Postgres {
            url: self.log.url.clone(),
            schema: self.log.schema.clone(),
        }
    }
}
