//! Logins that may create nothing.

use std::ops::ControlFlow;

use dcb_core::postgres::{Config, PostgresStore, check_keys, check_schema, rebuild_keys};
use dcb_core::{
    Append, Command, DecisionModel, Error, EventStore as _, Fault, ProjectionRunner, Projector,
    Query, StateOptions, SubscribeOptions, Tracking,
};

use crate::runner::tally::{Tally, expected};
use crate::support::events::{at, head, tag, tagged, unless};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log, server};
use crate::support::wait::wait_until;

/// A login with no rights but these, as `app` in the statements. Its name is that of the log's schema.
async fn login(log: &Config, grants: &str) -> Config {
    let app = format!("{}_app", log.schema);
    let mut sql = Sql::connect(&log.url).await;
    sql.run(&format!(
        "CREATE ROLE {app} LOGIN; {}",
        grants.replace("app;", &format!("{app};"))
    ))
    .await;
    sql.close().await;
    let (_, address) = log.url.rsplit_once('@').expect("a user");
    let mut config = log.clone();
    config.url = format!("postgres://{app}@{address}");
    config
}

async fn drop_login(log: &Config) {
    let mut sql = Sql::connect(&log.url).await;
    sql.run(&format!(
        "DROP OWNED BY {0}_app; DROP ROLE {0}_app",
        log.schema
    ))
    .await;
    sql.close().await;
}

/// The statements of the guide for this log.
fn grants(log: &Config) -> String {
    let block = include_str!("../../../src/guide/operating.md")
        .split("```sql\n")
        .nth(1);
    let block = block.and_then(|rest| rest.split("```").next());
    let block = block.expect("the guide has the grants");
    block
        .replace("SCHEMA dcb", &format!("SCHEMA {}", log.schema))
        .replace("dcb.", &format!("{}.", log.schema))
}

#[tokio::test(flavor = "multi_thread")]
async fn login_with_the_rights_of_the_readme_runs_every_feature() {
    let log = fresh_log().await;
    connect(&log).await.close().await;
    Tally::install(&log).await;
    let schema = &log.schema;
    let own = format!(
        "GRANT INSERT, SELECT ON {schema}.seen TO app; GRANT TRUNCATE ON {schema}.seen TO app; \
         GRANT USAGE ON SEQUENCE {schema}.seen_ordinal_seq TO app;"
    );
    let app = login(&log, &(grants(&log) + &own)).await;
    let store = connect(&app).await;
    let other = connect(&app).await;
    let mut follower = other.subscribe(tag("a"), None, SubscribeOptions::new());
    store.append(tagged("a")).await.unwrap();
    assert_eq!(follower.next().await.unwrap().unwrap().position(), at(1));
    store.append_if(tagged("b"), unless("b")).await.unwrap();
    let command = Command::builder("Book").build().unwrap();
    let append = Append::new(tagged("a")).command(command);
    let append = append.tracking(Tracking::new("source", 7).unwrap());
    store.submit(append).await.unwrap();
    assert_eq!(store.tracked("source").await.unwrap(), Some(7));
    assert_eq!(store.commands(None, 10).await.unwrap().len(), 1);
    assert_eq!(store.count(&Query::all()).await.unwrap(), 3);

    let seats = Projector::counter(tag("a")).keep_stored("seats", 1, StateOptions::new().every(1));
    let model = DecisionModel::new(seats);
    let decided = model.decide(&store, |_| Ok::<_, Error>(Vec::new()));
    decided.await.unwrap();
    wait_until("the state is stored", async || {
        store.stats().states_stored == 1
    })
    .await;

    let mut runner = ProjectionRunner::new(store.clone(), tag("a"), Tally::new(&app).model(&app));
    runner.catch_up().await.unwrap();
    assert_eq!(Tally::seen(&log).await, expected(&store).await);
    runner.rebuild().await.unwrap();
    assert_eq!(Tally::seen(&log).await, expected(&store).await);

    store.health().await.unwrap();
    check_schema(&app).await.unwrap();
    let checked = check_keys(&app, |_| ControlFlow::Continue(())).await;
    assert!(checked.unwrap().is_clean());
    rebuild_keys(&app).await.unwrap();
    store.clear().await.unwrap();
    assert_eq!(head(&store).await, 0);
    store.close().await;
    other.close().await;
    drop_login(&log).await;
}

/// The rights that a refused login lacks, and the table or the statement that needs them.
fn refusal<T: std::fmt::Debug>(refused: Result<T, Error>) -> String {
    match refused {
        Err(Error::Fault(Fault::Refused(reason))) => {
            assert_eq!(reason.code(), Some("42501"));
            reason.message().to_owned()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn login_without_rights_learns_which_it_needs() {
    let log = fresh_log().await;
    let app = login(&log, "").await;
    let schema = &log.schema;
    let new = refusal(PostgresStore::connect(app.clone()).await);
    let statement = format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\": permission denied");
    assert!(new.contains(&statement), "{new}");
    assert!(new.contains("schema_sql"), "{new}");

    connect(&log).await.close().await;
    let installed = refusal(PostgresStore::connect(app.clone()).await);
    assert!(installed.contains("USAGE on the schema"), "{installed}");

    let mut sql = Sql::connect(&log.url).await;
    sql.run(&format!(
        "GRANT USAGE ON SCHEMA {schema} TO {schema}_app; \
         GRANT SELECT ON {schema}.event TO {schema}_app"
    ))
    .await;
    let mut runner =
        ProjectionRunner::new(connect(&log).await, tag("a"), Tally::new(&app).model(&app));
    let projection = refusal(runner.catch_up().await);
    assert!(projection.contains("table checkpoint"), "{projection}");
    assert!(projection.contains("USAGE on the schema"), "{projection}");
    drop_login(&log).await;
}

/// The tables of a projection may be in another database than the log, with nothing but its checkpoint.
#[tokio::test(flavor = "multi_thread")]
async fn checkpoint_in_another_database_is_installed_by_its_owner() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let database = server().await.create_database("projection").await.unwrap();
    let mut there = log.clone();
    there.url = database.url().to_owned();
    let app = login(&there, "").await;
    let mut runner = ProjectionRunner::new(store.clone(), tag("a"), Tally::new(&app).model(&app));
    let refused = refusal(runner.catch_up().await);
    assert!(refused.contains("CREATE SCHEMA IF NOT EXISTS"), "{refused}");
    assert!(refused.contains("schema_sql"), "{refused}");

    Tally::install(&there).await;
    let mut runner =
        ProjectionRunner::new(store.clone(), tag("a"), Tally::new(&there).model(&there));
    runner.catch_up().await.unwrap();
    assert_eq!(Tally::seen(&there).await, [1]);
    check_schema(&there).await.unwrap();
    drop_login(&there).await;
    store.close().await;
}
