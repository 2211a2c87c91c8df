//! Connecting names the differences from the schema that was installed.

use dcb_core::postgres::PostgresStore;
use dcb_core::{Error, EventStore as _};

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
        Err(Error::SchemaMismatch {
            schema,
            differences,
        }) => {
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
        (
            "UPDATE dcb.migration SET checksum = 'x'",
            &["migration 1 differs from what was installed"],
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
