//! Tables as the libraries make them, in a real PostgreSQL.

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::written;
use crate::support::{TestPlace, database, file, json, refused};

async fn database_with(hint: &str, sql: &str) -> TestPlace {
    let database = database(hint).await;
    execute(&database.place, sql).await;
    database
}

async fn execute(url: &str, sql: &str) {
    let mut connection = PgConnection::connect(url)
        .await
        .expect("the server answers");
    let statements = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
    statements
        .execute(&mut connection)
        .await
        .expect("the statements run");
}

/// Imports with a rule for the stream, twice, and returns the events.
fn imported(source: &TestPlace, format: &str) -> Vec<Value> {
    let (_rules, rules) = written("rules.toml", "[[tags]]\ntag = \"id:{id}\"\n");
    let log = file();
    let import = [
        "events",
        "import",
        &log.place,
        &source.place,
        "--format",
        format,
        "--rules",
        &rules,
    ];
    let dry = json(&[&import[..], &["--dry-run"]].concat());
    assert_eq!(json(&import), dry);
    assert_eq!(json(&import)[0]["events"], 0, "again: nothing is new");
    json(&["events", "query", &log.place, "--tag", "id:7"])
}

const MARTEN: &str = r#"
CREATE TABLE mt_streams (id uuid PRIMARY KEY, type varchar, version bigint,
    timestamp timestamptz NOT NULL DEFAULT now(), tenant_id varchar DEFAULT '*DEFAULT*', is_archived boolean DEFAULT false);
CREATE TABLE mt_events (seq_id bigint PRIMARY KEY, id uuid NOT NULL, stream_id uuid REFERENCES mt_streams ON DELETE CASCADE,
    version bigint NOT NULL, data jsonb NOT NULL, type varchar(500) NOT NULL,
    timestamp timestamptz NOT NULL DEFAULT now(), tenant_id varchar DEFAULT '*DEFAULT*', mt_dotnet_type varchar,
    correlation_id varchar, headers jsonb, is_archived boolean DEFAULT false);
INSERT INTO mt_streams (id) VALUES ('018f3c5e-0000-7000-8000-0000000000aa');
INSERT INTO mt_events (seq_id, id, stream_id, version, data, type, timestamp, correlation_id, headers) VALUES
    (3, '018f3c5e-0000-7000-8000-000000000003', '018f3c5e-0000-7000-8000-0000000000aa', 2, '{"id": 7, "n": 2}', 'order_paid', '2020-01-02 03:04:06.5Z', 'c', '{"user": "me"}'),
    (1, '018f3c5e-0000-7000-8000-000000000001', '018f3c5e-0000-7000-8000-0000000000aa', 1, '{"id": 7, "n": 1}', 'order_placed', '2020-01-02 03:04:05.123456Z', NULL, NULL)"#;

#[tokio::test(flavor = "multi_thread")]
async fn marten_is_imported() {
    let source = database_with("marten", MARTEN).await;
    let events = imported(&source, "marten");
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["type"], "order_placed");
    assert_eq!(events[0]["id"], "018f3c5e-0000-7000-8000-000000000001");
    assert_eq!(events[0]["recordedAt"], "2020-01-02T03:04:05.123456Z");
    assert_eq!(events[0]["data"], json!({"id": 7, "n": 1}));
    let metadata = json!({"correlationId": "c", "headers": "{\"user\":\"me\"}", "streamVersion": "2",
        "tenantId": "*DEFAULT*", "isArchived": "false"});
    assert_eq!(events[1]["metadata"], metadata);
}

const MESSAGE_DB: &str = r#"
CREATE SCHEMA message_store;
CREATE TABLE message_store.messages (global_position bigserial PRIMARY KEY, position bigint NOT NULL,
    time timestamp NOT NULL DEFAULT (now() AT TIME ZONE 'utc'), stream_name text NOT NULL, type text NOT NULL,
    data jsonb, metadata jsonb, id uuid NOT NULL DEFAULT gen_random_uuid());
INSERT INTO message_store.messages (position, stream_name, type, data, metadata, time, id) VALUES
    (0, 'order-7', 'Placed', '{"id": 7}', '{"by": "me"}', '2020-01-02 03:04:05.123456', '018f3c5e-0000-7000-8000-000000000001'),
    (1, 'order-7', 'Paid', '{"id": 7}', NULL, '2020-01-02 03:04:06', '018f3c5e-0000-7000-8000-000000000002')"#;

#[tokio::test(flavor = "multi_thread")]
async fn message_db_is_imported() {
    let source = database_with("message_db", MESSAGE_DB).await;
    let events = imported(&source, "message-db");
    assert_eq!(events.len(), 2);
    assert_eq!(events[0]["id"], "018f3c5e-0000-7000-8000-000000000001");
    assert_eq!(events[0]["recordedAt"], "2020-01-02T03:04:05.123456Z");
    assert_eq!(events[0]["metadata"], json!({"by": "me"}));
    assert_eq!(events[1]["type"], "Paid");
}

/// The columns of Axon's entity, with payloads as JPA stores them: `oid`, a large object, or `bytea`.
fn axon(column: &str, bytes: &str) -> String {
    let bytes = |json: &str| bytes.replace("BYTES", &format!("convert_to('{json}', 'UTF8')"));
    let (first, second) = (bytes(r#"{"id": 7}"#), bytes(r#"{"id": 7, "n": 2}"#));
    let metadata = bytes(r#"{"traceId": "t"}"#);
    format!(
        "CREATE TABLE domain_event_entry (global_index bigint PRIMARY KEY, event_identifier varchar(255) NOT NULL UNIQUE, \
            meta_data {column}, payload {column} NOT NULL, payload_revision varchar(255), payload_type varchar(255) NOT NULL, \
            time_stamp varchar(255) NOT NULL, aggregate_identifier varchar(255) NOT NULL, sequence_number bigint NOT NULL, \
            type varchar(255), UNIQUE (aggregate_identifier, sequence_number)); \
         INSERT INTO domain_event_entry VALUES \
            (1, '018f3c5e-0000-7000-8000-000000000001', {metadata}, {first}, '2', 'com.shop.Placed', '2020-01-02T03:04:05.123Z', 'o7', 0, 'Order'), \
            (2, '018f3c5e-0000-7000-8000-000000000002', NULL, {second}, NULL, 'com.shop.Paid', '2020-01-02T03:04:06Z', 'o7', 1, 'Order')"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn axon_is_imported() {
    for (column, bytes) in [("oid", "lo_from_bytea(0, BYTES)"), ("bytea", "BYTES")] {
        let source = database_with("axon", &axon(column, bytes)).await;
        let events = imported(&source, "axon");
        assert_eq!(events.len(), 2, "{column}");
        assert_eq!(events[0]["type"], "com.shop.Placed");
        assert_eq!(events[0]["recordedAt"], "2020-01-02T03:04:05.123Z");
        let metadata = json!({"aggregateType": "Order", "revision": "2", "sequenceNumber": "0", "traceId": "t"});
        assert_eq!(events[0]["metadata"], metadata);
        assert_eq!(events[1]["data"], json!({"id": 7, "n": 2}));
    }
}

const EVENTSOURCING: &str = r#"
CREATE TABLE stored_events (originator_id uuid NOT NULL, originator_version bigint NOT NULL, topic text, state bytea,
    notification_id bigserial, PRIMARY KEY (originator_id, originator_version));
INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES
    ('018f3c5e-0000-7000-8000-0000000000aa', 1, 'shop:Order.Placed', convert_to('{"id": 7}', 'UTF8')),
    ('018f3c5e-0000-7000-8000-0000000000aa', 2, 'shop:Order.Paid', convert_to('{"id": 7}', 'UTF8'))"#;

#[tokio::test(flavor = "multi_thread")]
async fn eventsourcing_is_imported() {
    let source = database_with("eventsourcing", EVENTSOURCING).await;
    let events = imported(&source, "eventsourcing");
    assert_eq!(events.len(), 2);
    assert_eq!(events[1]["type"], "shop:Order.Paid");
    assert_eq!(events[1]["metadata"], json!({"originatorVersion": "2"}));
}

const GO_CRABLET: &str = r#"
CREATE TABLE events (type varchar(64) NOT NULL, tags text[] NOT NULL, data json NOT NULL, transaction_id xid8 NOT NULL,
    position bigserial PRIMARY KEY, occurred_at timestamptz NOT NULL DEFAULT now());
INSERT INTO events (type, tags, data, transaction_id) VALUES ('Placed', '{id:7}', '{"id": 7}', pg_current_xact_id())"#;

#[tokio::test(flavor = "multi_thread")]
async fn go_crablet_is_imported_with_its_tags() {
    let source = database_with("go_crablet", GO_CRABLET).await;
    let log = file();
    let import = [
        "events",
        "import",
        &log.place,
        &source.place,
        "--format",
        "go-crablet",
    ];
    assert_eq!(json(&import), [json!({"events": 1})]);
    assert_eq!(
        json(&["events", "query", &log.place, "--tag", "id:7"]).len(),
        1
    );
    refused(2, &[&import[..], &["--dry-run"]].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_row_is_imported_by_the_next_run_and_other_tables_are_refused() {
    let source = database_with("again", MESSAGE_DB).await;
    let log = file();
    let import = [
        "events",
        "import",
        &log.place,
        &source.place,
        "--format",
        "message-db",
    ];
    assert_eq!(json(&import)[0]["events"], 2);
    let insert = "INSERT INTO message_store.messages (position, stream_name, type) VALUES (0, 'order-8', 'Placed')";
    execute(&source.place, insert).await;
    assert_eq!(json(&import)[0]["events"], 1);
    assert_eq!(json(&["events", "query", &log.place]).len(), 3);

    let none = refused(
        4,
        &[
            "events",
            "import",
            &log.place,
            &source.place,
            "--format",
            "marten",
        ],
    );
    assert!(none.contains("there is no table"), "{none}");
    execute(&source.place, "CREATE TABLE mt_events (seq_id bigint)").await;
    let other = refused(
        4,
        &[
            "events",
            "import",
            &log.place,
            &source.place,
            "--format",
            "marten",
        ],
    );
    assert!(other.contains("lacks the columns id"), "{other}");
}
