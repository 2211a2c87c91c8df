//! Databases whose default isolation is stricter than READ COMMITTED.

use conformance_suite::effort;
use dcb_conformance::CALLERS;
use dcb_core::EventStore as _;
use dcb_core::postgres::PostgresStore;
use local_postgres::Database;

use crate::backends::processes::assert_decisions_hold;
use crate::support::events::{head, tagged};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on, server};
use crate::support::tasks::Task;
use crate::support::workers::in_three_processes;

const STRICTER: [&str; 2] = ["repeatable read", "serializable"];

async fn database_of(isolation: &str) -> Database {
    let database = server().await.create_database(isolation).await.unwrap();
    let mut sql = Sql::connect(database.url()).await;
    let name = database.name();
    sql.run(&format!(
        "ALTER DATABASE {name} SET default_transaction_isolation = '{isolation}'"
    ))
    .await;
    sql.close().await;
    database
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_hold_under_stricter_default_isolation() {
    for isolation in STRICTER {
        let database = database_of(isolation).await;
        for callers in CALLERS {
            assert_decisions_hold::<PostgresStore>(&log_on(database.url()), callers, effort(100))
                .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unrelated_appends_never_conflict_under_stricter_default_isolation() {
    for isolation in STRICTER {
        let database = database_of(isolation).await;
        let log = log_on(database.url());
        let reports =
            in_three_processes::<PostgresStore>(&log, &Task::Keep { rounds: 10 }, 10).await;
        assert!(
            reports.iter().all(|report| report.conflicts == 0),
            "{reports:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn append_function_refuses_stricter_isolation() {
    for isolation in STRICTER {
        let database = database_of(isolation).await;
        let log = log_on(database.url());
        let store = connect(&log).await;
        store.append(tagged("first")).await.unwrap();
        let mut sql = Sql::connect(database.url()).await;
        let call = format!(
            "SELECT {}.append('{{1}}', ARRAY[gen_random_uuid()], '{{Happened}}', ARRAY['{{}}'], \
             NULL, '{{x}}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
            log.schema
        );
        let refused = sql.try_run(&call).await.unwrap_err();
        let code = refused.as_database_error().and_then(|answer| answer.code());
        assert_eq!(code.as_deref(), Some("25000"), "{refused}");
        assert_eq!(head(&store).await, 1);
        sql.run("SET default_transaction_isolation = 'read committed'")
            .await;
        sql.run(&call).await;
        assert_eq!(head(&store).await, 2, "READ COMMITTED is accepted");
        store.close().await;
    }
}
