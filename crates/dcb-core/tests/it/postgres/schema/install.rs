//! Installing the schema, and refusing bad settings.

use dcb_core::postgres::{Config, GoLog, PostgresStore};
use dcb_core::{Error, EventStore as _, Fault, Problem};

use crate::support::events::{head, tagged, unless};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log};

#[tokio::test(flavor = "multi_thread")]
async fn connecting_to_an_existing_log_keeps_it() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    store.close().await;
    let store = connect(&log).await;
    assert_eq!(head(&store).await, 1);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_starts_install_the_schema_once() {
    let log = fresh_log().await;
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let log = log.clone();
            tokio::spawn(async move {
                let store = connect(&log).await;
                store.append(tagged("a")).await.unwrap();
                store.close().await;
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let store = connect(&log).await;
    assert_eq!(head(&store).await, 8);
    store.close().await;
    let mut sql = Sql::connect(&log.url).await;
    // A row for each version of the schema.
    let repeated = format!(
        "SELECT count(*) - max(version) FROM {}.migration",
        log.schema
    );
    assert_eq!(sql.number(&repeated).await, 0);
    sql.close().await;
}

/// Version 1 could not tell which condition of an append failed.
#[tokio::test(flavor = "multi_thread")]
async fn schema_of_version_1_is_upgraded() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    store.close().await;
    let mut sql = Sql::connect(&log.url).await;
    let first = include_str!("../../../../schema/postgres/versions/1/refusals.sql");
    sql.run(&format!(
        "DELETE FROM {schema}.migration WHERE version > 1; DROP FUNCTION {schema}.refusals; \
         DROP TABLE {schema}.kept_state, {schema}.projection, {schema}.projection_slice, \
         {schema}.projection_member, {schema}.projection_event",
        schema = log.schema
    ))
    .await;
    sql.run(&first.replace("dcb.", &format!("{}.", log.schema)))
        .await;
    sql.close().await;
    let store = connect(&log).await;
    let refused = store
        .append_if(tagged("b"), [unless("absent"), unless("a")])
        .await;
    assert!(
        matches!(refused, Err(Error::Conflict { condition: 1, .. })),
        "{refused:?}"
    );
    assert_eq!(head(&store).await, 1);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn database_with_another_encoding_is_refused() {
    let log = fresh_log().await;
    let mut sql = Sql::connect(&log.url).await;
    let (server, _) = log.url.rsplit_once('/').expect("the URL has a database");
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let name = format!("log_{}_{}", std::process::id(), encoding.to_lowercase());
        sql.run(&format!(
            "CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' \
             LC_COLLATE 'C' LC_CTYPE 'C'"
        ))
        .await;
        let refused = PostgresStore::connect(Config::new(format!("{server}/{name}"))).await;
        let Err(failed @ Error::Fault(Fault::Refused(_))) = refused else {
            panic!("{encoding}: {refused:?}");
        };
        assert!(!failed.is_transient());
        let shown = failed.to_string();
        assert!(
            shown.contains(encoding) && shown.contains("UTF8"),
            "{shown}"
        );
        sql.run(&format!("DROP DATABASE {name}")).await;
    }
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_schema_version_is_refused() {
    let log = fresh_log().await;
    connect(&log).await.close().await;
    let mut sql = Sql::connect(&log.url).await;
    let newer = format!(
        "INSERT INTO {}.migration (version, checksum) VALUES (999, 'x')",
        log.schema
    );
    sql.run(&newer).await;
    sql.close().await;
    let refused = PostgresStore::connect(log.clone()).await.unwrap_err();
    let Error::Fault(Fault::SchemaTooNew {
        schema,
        found: 999,
        supported,
    }) = &refused
    else {
        panic!("{refused}");
    };
    assert_eq!(*schema, log.schema);
    assert!(*supported < 999);
}

/// The field and the problem that the error of a refused config names.
async fn refusal(config: Config) -> (String, Problem) {
    match PostgresStore::connect(config).await {
        Err(Error::Invalid { field, problem }) => (field, problem),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_schema_name_is_refused() {
    let log = fresh_log().await;
    let named = |name: &str| refusal(log.clone().schema(name));
    let field = || "schema".to_owned();
    assert_eq!(named("").await, (field(), Problem::Empty));
    assert_eq!(named("a\0b").await, (field(), Problem::ContainsNul));
    let (max, actual) = (63, 64);
    assert_eq!(
        named(&"x".repeat(actual)).await,
        (field(), Problem::TooLong { max, actual })
    );
    for name in ["1st", "pg_log", "a b", "a\"b", "a.b", "a;b", "ä"] {
        let (field, problem) = named(name).await;
        assert_eq!(field, "schema", "{name}");
        assert!(
            matches!(problem, Problem::Malformed { .. }),
            "{name}: {problem}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn longest_and_capitalized_schema_names_are_distinct() {
    let log = fresh_log().await;
    let long = format!("{}{}", log.schema, "x".repeat(63 - log.schema.len()));
    for name in [long, log.schema.to_uppercase(), "Select".to_owned()] {
        let store = connect(&log.clone().schema(name)).await;
        assert_eq!(store.append(tagged("a")).await.unwrap().first().get(), 1);
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_url_is_refused() {
    let log = fresh_log().await;
    for url in [
        "",
        "nonsense",
        "mysql://root@localhost/db",
        "postgres://a@b:port/c",
    ] {
        let (field, problem) = refusal(Config::new(url)).await;
        assert_eq!(field, "url", "{url}");
        assert!(
            matches!(problem, Problem::Malformed { .. }),
            "{url}: {problem}"
        );
        let mut with_replica = log.clone();
        with_replica.replica_url = Some(url.to_owned());
        let (field, _) = refusal(with_replica).await;
        assert_eq!(field, "replica_url", "{url}");
    }
}

#[test]
fn debug_output_of_a_config_hides_passwords() {
    let mut config = Config::new("postgres://u:secret@h/a");
    config.replica_url = Some("postgres://u:secret@r/a".to_owned());
    let go_log = GoLog::new("postgres://u:secret@h/a");
    assert!(!format!("{config:?} {go_log:?}").contains("secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_port_is_unavailable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let refused = PostgresStore::connect(Config::new(format!(
        "postgres://nobody@127.0.0.1:{port}/nothing"
    )));
    let refused = refused.await.unwrap_err();
    assert!(
        matches!(refused, Error::Fault(Fault::Unreachable(_))),
        "{refused:?}"
    );
}

/// The error carries the server's code and is not [`Fault::Unreachable`].
#[tokio::test(flavor = "multi_thread")]
async fn missing_database_is_a_database_error() {
    let log = fresh_log().await;
    let (server, _) = log.url.rsplit_once('/').unwrap();
    let refused = PostgresStore::connect(Config::new(format!("{server}/not_there")));
    let refused = refused.await.unwrap_err();
    assert!(
        matches!(&refused, Error::Fault(fault) if fault.code() == Some("3D000")),
        "{refused:?}"
    );
}
