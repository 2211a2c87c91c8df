//! Connecting names the differences from the schema that was installed.

use dcb_core::postgres::{PostgresStore, check_schema};
use dcb_core::{Error, EventStore as _, Fault};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log};

/// The differences that a store reports after this change. `dcb` stands for the log's schema.
async fn differences_after(change: &str) -> Vec<String> {
    let log = fresh_log().await;
    connect(&log).await.close().await;
    let mut sql = Sql::connect(&log.url).await;
    sql.run(&change.replace("dcb.", &format!("{}.", log.schema)))
        .await;
    sql.close().await;
    match PostgresStore::connect(log.clone()).await {
        Ok(store) => {
            store.close().await;
            Vec::new()
        }
        Err(Error::Fault(Fault::SchemaChanged {
            schema,
            differences,
        })) => {
            assert_eq!(schema, log.schema);
            differences
        }
        Err(error) => panic!("{change}: {error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connect_names_each_schema_difference() {
    let cases = [
        (
            "DROP INDEX dcb.event_type_position",
            &["index event_type_position is missing"][..],
        ),
        (
            "ALTER TABLE dcb.event DROP CONSTRAINT event_id_key",
            &["index event_id_key is missing"],
        ),
        (
            "DROP INDEX dcb.event_type_position; \
             CREATE INDEX event_type_position ON dcb.event (position, type)",
            &["index event_type_position differs from what was installed"],
        ),
        // A CREATE INDEX CONCURRENTLY or a REINDEX that failed leaves such an index. No query uses it.
        (
            "UPDATE pg_index SET indisvalid = false \
              WHERE indexrelid = 'dcb.event_type_position'::regclass",
            &["index event_type_position differs from what was installed"],
        ),
        (
            "CREATE OR REPLACE FUNCTION dcb.tag_key(tag text, type text) RETURNS bigint \
             LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT 1::bigint'",
            &["function tag_key differs from what was installed"],
        ),
        (
            "ALTER FUNCTION dcb.append RESET plan_cache_mode",
            &["function append differs from what was installed"],
        ),
        (
            "DROP FUNCTION dcb.rarest_tag",
            &["function rarest_tag is missing"],
        ),
        (
            "ALTER TABLE dcb.event DROP COLUMN metadata",
            &["column event.metadata is missing"],
        ),
        (
            "ALTER TABLE dcb.tracking ALTER COLUMN position TYPE numeric",
            &["column tracking.position differs from what was installed"],
        ),
        (
            "ALTER TABLE dcb.event ALTER COLUMN data DROP NOT NULL; DROP TABLE dcb.tracking",
            &[
                "column event.data differs from what was installed",
                "column tracking.position is missing",
                "column tracking.source is missing",
                "index tracking_pkey is missing",
            ],
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(differences_after(change).await, expected, "{change}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn added_objects_are_no_difference() {
    let additions = [
        "ALTER TABLE dcb.event ADD COLUMN note text",
        "CREATE INDEX further ON dcb.event (recorded_at)",
        "CREATE FUNCTION dcb.further() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ];
    for addition in additions {
        assert_eq!(differences_after(addition).await, [""; 0], "{addition}");
    }
}

/// The state after a `REINDEX CONCURRENTLY` that broke off. The store works, and each append pays for
/// the index.
#[tokio::test(flavor = "multi_thread")]
async fn check_names_an_added_index_that_is_invalid() {
    let log = fresh_log().await;
    connect(&log).await.close().await;
    check_schema(&log).await.unwrap();
    let mut sql = Sql::connect(&log.url).await;
    let index = format!("{}.event_type_position_ccnew", log.schema);
    sql.run(&format!(
        "CREATE INDEX event_type_position_ccnew ON {}.event (type); \
         UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{index}'::regclass",
        log.schema
    ))
    .await;
    match check_schema(&log).await {
        Err(Error::Fault(Fault::SchemaChanged { differences, .. })) => assert_eq!(
            differences,
            ["index event_type_position_ccnew is invalid: reindex or drop it"]
        ),
        other => panic!("{other:?}"),
    }
    connect(&log).await.close().await;
    sql.run(&format!("DROP INDEX {index}")).await;
    sql.close().await;
    check_schema(&log).await.unwrap();
}

/// The state after an upgrade of the server, which prints some objects in another form, and after an
/// update of the library that changed no object.
#[tokio::test(flavor = "multi_thread")]
async fn unchanged_schema_with_another_digest_is_adopted() {
    let log = fresh_log().await;
    connect(&log).await.close().await;
    let mut sql = Sql::connect(&log.url).await;
    let digest = format!("FROM {}.migration WHERE checksum", log.schema);
    // The row of the newest version has the digest of all objects.
    sql.run(&format!(
        "UPDATE {schema}.migration SET checksum = 'x' \
          WHERE version = (SELECT max(version) FROM {schema}.migration)",
        schema = log.schema
    ))
    .await;
    connect(&log).await.close().await;
    let unknown = format!("SELECT count(*) {digest} = 'x'");
    assert_eq!(sql.number(&unknown).await, 0, "the new digest is recorded");
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_the_database_are_no_difference() {
    let log = fresh_log().await;
    connect(&log).await.close().await;
    let mut sql = Sql::connect(&log.url).await;
    let (_, database) = log.url.rsplit_once('/').expect("a database");
    let settings = [
        ("quote_all_identifiers", "on"),
        ("search_path", "pg_temp"),
        ("IntervalStyle", "sql_standard"),
        ("DateStyle", "'SQL, DMY'"),
        ("TimeZone", "'Asia/Kathmandu'"),
        ("bytea_output", "escape"),
        ("extra_float_digits", "-15"),
        ("array_nulls", "off"),
        ("transform_null_equals", "on"),
        ("check_function_bodies", "off"),
        ("default_transaction_isolation", "serializable"),
    ];
    let role = format!("{}_settings", log.schema);
    sql.run(&format!("CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'x'"))
        .await;
    for (name, value) in settings {
        sql.run(&format!(
            "ALTER ROLE {role} IN DATABASE {database} SET {name} = {value}"
        ))
        .await;
    }
    let (_, address) = log.url.rsplit_once('@').expect("a user");
    let mut other = log.clone();
    other.url = format!("postgres://{role}:x@{address}");
    // The first store compares with what another session recorded, the second after a comparison.
    connect(&other).await.close().await;
    sql.run(&format!(
        "UPDATE {}.migration SET checksum = 'x'",
        log.schema
    ))
    .await;
    connect(&other).await.close().await;
    connect(&log).await.close().await;
    sql.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"))
        .await;
    sql.close().await;
}

/// A store may be opened by a role that only uses it.
#[tokio::test(flavor = "multi_thread")]
async fn role_without_the_right_to_create_compares_too() {
    let log = fresh_log().await;
    connect(&log).await.close().await;
    let mut sql = Sql::connect(&log.url).await;
    let (schema, role) = (&log.schema, format!("{}_user", log.schema));
    sql.run(&format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA {schema} TO {role}; \
         GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}; \
         UPDATE {schema}.migration SET checksum = 'x'"
    ))
    .await;
    let (_, address) = log.url.rsplit_once('@').expect("a user");
    let mut other = log.clone();
    other.url = format!("postgres://{role}:x@{address}");
    connect(&other).await.close().await;
    sql.run(&format!("DROP INDEX {schema}.event_type_position"))
        .await;
    let refused = PostgresStore::connect(other).await;
    assert!(
        matches!(&refused, Err(Error::Fault(Fault::SchemaChanged { .. }))),
        "{refused:?}"
    );
    sql.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"))
        .await;
    sql.close().await;
}
