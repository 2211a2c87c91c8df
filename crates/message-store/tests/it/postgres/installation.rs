//! The SQL of the schema, and the check of an installed one.

use message_store::postgres::{
    Config, PostgresNamespaces, PostgresStore, check_schema, install_schema, schema_sql,
};
use message_store::{Error, Fault, MessageStore, NamespaceName, Namespaces};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{
    connect, create_run_time_login, fresh_database, fresh_store, url_as, whole_stream, write,
};

/// The differences that a check names.
async fn differences(config: &Config) -> Vec<String> {
    match check_schema(config).await {
        Ok(()) => Vec::new(),
        Err(Error::Fault(Fault::SchemaChanged { differences, .. })) => differences,
        Err(failed) => panic!("{failed:?}"),
    }
}

#[tokio::test]
async fn check_names_differences_and_changes_nothing() {
    let database = fresh_database().await;
    let config = Config::new(database.url());
    assert_eq!(
        differences(&config).await,
        ["schema message_store is not installed"]
    );
    let mut sql = Sql::connect(database.url()).await;
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'message_store'";
    assert_eq!(sql.number(schemas).await, 0);
    install_schema(&config).await.unwrap();
    assert_eq!(differences(&config).await, [""; 0]);
    sql.run(
        "ALTER TABLE message_store.checkpoint ALTER COLUMN consumer TYPE text COLLATE pg_catalog.\"default\"; \
         UPDATE message_store.migration SET checksum = 'other'",
    )
    .await;
    let expected = ["column checkpoint.consumer differs from what was installed"];
    assert_eq!(differences(&config).await, expected);
    let digest = "SELECT checksum FROM message_store.migration";
    assert_eq!(sql.value(digest).await, "other");
    sql.run("INSERT INTO message_store.migration (version, checksum) VALUES (7, '')")
        .await;
    let newer = check_schema(&config).await;
    assert!(
        matches!(
            newer,
            Err(Error::Fault(Fault::SchemaTooNew { found: 7, .. }))
        ),
        "{newer:?}"
    );
}

/// A `CREATE UNIQUE INDEX CONCURRENTLY` that fails, as a `REINDEX CONCURRENTLY` does when it breaks off.
#[tokio::test]
async fn check_names_an_index_that_could_not_be_built() {
    let (database, store) = fresh_store().await;
    write(&store, "a-1", 1).await;
    write(&store, "a-1", 2).await;
    store.close().await;
    let config = Config::new(database.url());
    let mut sql = Sql::connect(database.url()).await;
    let failed = sql
        .try_run(
            "CREATE UNIQUE INDEX CONCURRENTLY messages_id_ccnew \
             ON message_store.messages (stream_name)",
        )
        .await;
    failed.unwrap_err();
    let expected = ["index messages_id_ccnew is invalid: reindex or drop it"];
    assert_eq!(differences(&config).await, expected);
    connect(config.clone()).await.close().await;
    sql.run("DROP INDEX message_store.messages_id_ccnew").await;
    assert_eq!(differences(&config).await, [""; 0]);
}

/// An administrator runs the SQL; the store's login may create nothing.
#[tokio::test]
async fn database_made_from_sql_serves_a_login_that_may_not_create() {
    let database = fresh_database().await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run(&schema_sql("message_store").unwrap()).await;
    let app = create_run_time_login(&database).await;
    let config = Config::new(url_as(database.url(), &app));
    check_schema(&config).await.unwrap();
    let store = connect(config).await;
    write(&store, "a-1", 1).await;
    assert_eq!(whole_stream(&store, "a-1").await.len(), 1);
    store.close().await;
    let mut client = Sql::as_message_store(database.url()).await;
    assert_eq!(client.write("a-1").await, 1);
    sql.run(&format!("DROP OWNED BY {app}; DROP ROLE {app}"))
        .await;
}

#[tokio::test]
async fn sql_of_another_schema_grants_nothing() {
    let database = fresh_database().await;
    let mut sql = Sql::connect(database.url()).await;
    let text = schema_sql("tenant").unwrap();
    assert!(!text.contains("GRANT"), "{text}");
    sql.run(&text).await;
    let config = Config::new(database.url()).schema("tenant");
    check_schema(&config).await.unwrap();
    connect(config).await.close().await;
    assert!(matches!(schema_sql("a-b"), Err(Error::Invalid { .. })));
}

#[tokio::test]
async fn schemas_of_namespaces_are_installed_and_checked() {
    let database = fresh_database().await;
    let main = NamespaceName::new("main").unwrap();
    let config = Config::new(database.url()).interface_namespace(main.clone());
    let check = async || match PostgresNamespaces::check_schemas(config.clone()).await {
        Ok(()) => Vec::new(),
        Err(Error::Fault(Fault::SchemaChanged { differences, .. })) => differences,
        Err(failed) => panic!("{failed:?}"),
    };
    assert_eq!(
        check().await,
        ["table message_store_namespaces.namespace is missing"]
    );
    PostgresNamespaces::install_schemas(config.clone())
        .await
        .unwrap();
    assert_eq!(check().await, [""; 0]);
    let namespaces = PostgresNamespaces::connect(config.clone()).await.unwrap();
    for name in [main, NamespaceName::new("tenant").unwrap()] {
        namespaces.create(&name, None).await.unwrap();
    }
    namespaces.close().await;
    assert_eq!(check().await, [""; 0]);
    let mut sql = Sql::connect(database.url()).await;
    sql.run("DROP VIEW message_store.type_summary; DROP INDEX message_store_1.messages_stream")
        .await;
    assert_eq!(
        check().await,
        [
            "schema message_store: view type_summary is missing",
            "schema message_store_1: index messages_stream is missing",
        ]
    );
}

/// Settings that change how the server prints or parses, set for the role that connects.
#[tokio::test]
async fn settings_of_the_role_are_no_difference() {
    let (database, store) = fresh_store().await;
    store.close().await;
    let mut sql = Sql::connect(database.url()).await;
    let role = format!("settings_{}", database.name());
    sql.run(&format!("CREATE ROLE {role} LOGIN SUPERUSER"))
        .await;
    for (name, value) in [
        ("quote_all_identifiers", "on"),
        ("search_path", "pg_temp"),
        ("DateStyle", "'SQL, DMY'"),
        ("IntervalStyle", "sql_standard"),
        ("TimeZone", "'Asia/Kathmandu'"),
        ("bytea_output", "escape"),
        ("extra_float_digits", "-15"),
        ("array_nulls", "off"),
        ("transform_null_equals", "on"),
        ("backslash_quote", "off"),
        ("xmloption", "document"),
        ("default_transaction_isolation", "serializable"),
        ("default_table_access_method", "heap"),
        ("check_function_bodies", "off"),
        ("plpgsql.extra_errors", "'all'"),
        ("plpgsql.variable_conflict", "use_column"),
        ("client_min_messages", "debug1"),
        ("row_security", "off"),
        ("session_replication_role", "replica"),
    ] {
        let set = format!("ALTER ROLE {role} SET {name} = {value}");
        sql.run(&set).await;
    }
    let other = Config::new(url_as(database.url(), &role));
    // The first compares with what another session recorded, the second after a comparison.
    connect(other.clone()).await.close().await;
    sql.run("UPDATE message_store.migration SET checksum = 'x'")
        .await;
    connect(other.clone()).await.close().await;
    connect(Config::new(database.url())).await.close().await;
    check_schema(&other).await.unwrap();
    // A schema that such a session installs is none either.
    connect(other.schema("another")).await.close().await;
    let another = Config::new(database.url()).schema("another");
    PostgresStore::connect(another).await.unwrap().close().await;
    sql.run(&format!(
        "DROP SCHEMA another CASCADE; DROP OWNED BY {role}; DROP ROLE {role}"
    ))
    .await;
}
