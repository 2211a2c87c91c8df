use std::convert::Infallible;
use std::time::Duration;

use dcb_core::postgres::{Config, Handler, PostgresReadModel, PostgresStore};
use dcb_core::{Error, HandlerError, ProjectionRunner, Query, SequencedEvent};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Row as _};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::seen::Ended;
use crate::sql::{self, PATIENCE};

/// A projection in a table, kept by a runner.
pub(crate) struct Kept {
    url: String,
    running: JoinHandle<Result<Infallible, Error>>,
}

impl Kept {
    /// Keeps the table in the database of `config`.
    pub(crate) async fn start(store: &PostgresStore, config: &Config) -> Self {
        let mut runner = runner(store, config).await;
        Self {
            url: config.url.clone(),
            running: tokio::spawn(async move { runner.run().await }),
        }
    }

    /// Asserts that the table has each event once, and that they were applied in order, or that the
    /// runner was told of a loss.
    pub(crate) async fn check(self, log: &[SequencedEvent], may_lose: bool) {
        let expected: Vec<i64> = (1..=log.len() as i64).collect();
        let give_up = Instant::now() + PATIENCE;
        while kept_positions(&self.url).await.len() < expected.len() {
            if self.running.is_finished() {
                let Err(error) = self.running.await.expect("the runner does not panic");
                let ended = Ended::from(error);
                assert!(
                    may_lose && ended == Ended::PastIsLost,
                    "the runner: {ended:?}"
                );
                return;
            }
            assert!(Instant::now() < give_up, "the kept projection is late");
            sleep(Duration::from_millis(20)).await;
        }
        self.running.abort();
        assert_eq!(kept_positions(&self.url).await, expected);
    }
}

/// A runner that keeps the positions of all events in a table of the database of `model`.
pub(crate) async fn runner(
    store: &PostgresStore,
    model: &Config,
) -> ProjectionRunner<PostgresStore, PostgresReadModel<Positions>> {
    let table = "CREATE TABLE IF NOT EXISTS kept (number bigserial, position bigint PRIMARY KEY)";
    let created = sql::run(&model.url, table).await;
    created.expect("the leader takes writes");
    let model = PostgresReadModel::new(model, "positions", Positions);
    let model = model.expect("the configuration is valid");
    ProjectionRunner::new(store.clone(), Query::all(), model)
}

/// The positions in the table, in the order in which they were applied.
pub(crate) async fn kept_positions(url: &str) -> Vec<i64> {
    let positions = "SELECT position FROM kept ORDER BY number";
    let rows = sql::rows(url, positions).await.expect("the leader answers");
    rows.iter().map(|row| row.get(0)).collect()
}

/// Writes the position of each event into the table. A position that is applied twice is an error.
pub(crate) struct Positions;

impl Handler for Positions {
    async fn handle(
        &mut self,
        transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        let positions = events.iter().map(|event| event.position().get() as i64);
        let positions: Vec<i64> = positions.collect();
        sqlx::query("INSERT INTO kept (position) SELECT unnest($1::bigint[])")
            .bind(positions)
            .execute(transaction)
            .await?;
        Ok(())
    }

    async fn reset(&mut self, transaction: &mut PgConnection) -> Result<(), HandlerError> {
        let emptied = sqlx::raw_sql(AssertSqlSafe("DELETE FROM kept".to_owned()));
        emptied.execute(transaction).await?;
        Ok(())
    }
}
