//! Databases whose transactions are not READ COMMITTED by default.

use dcb_core::EventStore as _;
use dcb_core::conformance::{CALLERS, effort};
use local_postgres::Database;

use crate::support::events::{head, tagged};
use crate::support::sql::Sql;
use crate::support::tasks::Task;
use crate::support::workers::everywhere;
use crate::support::{connect, log_on, server};
use crate::two_processes::assert_decisions_hold;

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
async fn decisions_hold_whatever_the_default_is() {
    for isolation in STRICTER {
        let database = database_of(isolation).await;
        for callers in CALLERS {
            assert_decisions_hold(&log_on(database.url()), callers, effort(100)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_conflicts_without_cause_whatever_the_default_is() {
    for isolation in STRICTER {
        let database = database_of(isolation).await;
        let log = log_on(database.url());
        let reports = everywhere(&log, &Task::Keep { rounds: 10 }, 10).await;
        assert!(
            reports.iter().all(|report| report.conflicts == 0),
            "{reports:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_function_refuses_any_other_transaction() {
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
        assert_eq!(head(&store).await, 2, "the same call is right otherwise");
        store.close().await;
    }
}
