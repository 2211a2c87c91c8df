//! The databases that states by key are tested on.

use dcb_core::postgres::{self, PostgresReadModel, PostgresStore};
use dcb_core::sqlite::{self, SqliteReadModel, SqliteStore};
use dcb_core::{ReadModel, SlicedModel, StateReader};

use super::{Account, States};
use crate::support::backend::SharedStore;
use crate::support::postgres::sql::Sql;

/// A database with a log, in which read models keep states by key.
pub(super) trait Ground: SharedStore {
    type Model: ReadModel;
    type Sliced: SlicedModel;

    fn model(log: &Self::Log, states: &States) -> Self::Model;

    fn sliced(log: &Self::Log, states: &States) -> Self::Sliced;

    fn reader(&self, states: &States) -> StateReader<Account>;

    /// Runs SQL.
    fn run(log: &Self::Log, sql: &str) -> impl Future<Output = ()> + Send;
}

impl Ground for PostgresStore {
    type Model = PostgresReadModel<States>;
    type Sliced = postgres::SlicedReadModel<States>;

    fn model(log: &Self::Log, states: &States) -> Self::Model {
        PostgresReadModel::new(log, "accounts", states.clone()).unwrap()
    }

    fn sliced(log: &Self::Log, states: &States) -> Self::Sliced {
        postgres::SlicedReadModel::new(log, "accounts", 1, states.clone()).unwrap()
    }

    fn reader(&self, states: &States) -> StateReader<Account> {
        StateReader::postgres(self, states)
    }

    async fn run(log: &Self::Log, sql: &str) {
        let mut session = Sql::connect(&log.url).await;
        session.run(sql).await;
        session.close().await;
    }
}

impl Ground for SqliteStore {
    type Model = SqliteReadModel<States>;
    type Sliced = sqlite::SlicedReadModel<States>;

    fn model(log: &Self::Log, states: &States) -> Self::Model {
        SqliteReadModel::new((**log).clone(), "accounts", states.clone()).unwrap()
    }

    fn sliced(log: &Self::Log, states: &States) -> Self::Sliced {
        sqlite::SlicedReadModel::new((**log).clone(), "accounts", 1, states.clone()).unwrap()
    }

    fn reader(&self, states: &States) -> StateReader<Account> {
        StateReader::sqlite(self, states).unwrap()
    }

    async fn run(log: &Self::Log, sql: &str) {
        crate::support::sqlite::files::foreign(log)
            .execute_batch(sql)
            .unwrap();
    }
}
