//! The commands `schema install`, `schema check`, `schema rebuild` and `schema print`, and the databases that a server
//! finds.

use std::path::Path;
use std::process::{Command, Output};

use demo_server::Settings;
use local_postgres::{Certificates, Durability, LocalPostgres, Options};
use message_store::postgres::{Config, PostgresNamespaces, PostgresStore};
use message_store::{MessageStore as _, NamespaceName, Namespaces as _};
use serde_json::json;

use crate::dcb::{append, event};
use crate::support::Client;
use crate::support::rpc::write;
use crate::support::sql::{fresh_database, sql, url_as};

/// The table and the row type of Message DB, and a message. The functions are of no concern here.
const MESSAGE_DB: &str = "\
    CREATE SCHEMA message_store; \
    CREATE TABLE message_store.messages ( \
        global_position bigserial PRIMARY KEY, position bigint NOT NULL, \
        time timestamp NOT NULL DEFAULT (now() AT TIME ZONE 'utc'), stream_name text NOT NULL, \
        type text NOT NULL, data jsonb, metadata jsonb, id uuid NOT NULL DEFAULT gen_random_uuid()); \
    CREATE TYPE message_store.message AS ( \
        id varchar, stream_name varchar, type varchar, position bigint, global_position bigint, \
        data varchar, metadata varchar, time timestamp); \
    INSERT INTO message_store.messages (position, stream_name, type, data) \
    VALUES (0, 'a-1', 'Old', '{}')";

/// A write as clients of Message DB send it.
const WRITE: &str = "SELECT write_message(gen_random_uuid()::varchar, 'a-1', 'ByClient', '{}')";

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo-server"));
    command.env_remove("DATABASE_URL").args(arguments);
    command.output().expect("the command runs")
}

fn printed(arguments: &[&str]) -> String {
    let ran = run(arguments);
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stdout).expect("text")
}

fn refused(arguments: &[&str]) -> String {
    let ran = run(arguments);
    assert!(!ran.status.success(), "{ran:?}");
    String::from_utf8(ran.stderr).expect("text")
}

fn settings(url: &str) -> Settings {
    Settings {
        database_url: Some(url.to_owned()),
        ..Settings::in_memory()
    }
}

/// Uses events and messages of a server on this database, and returns the new version of `a-1`.
async fn use_server(url: &str) -> i64 {
    let client = Client::with(settings(url)).await;
    append(&client, json!([event("Tried", &[], 0)])).await;
    let written = write(&client, "a-1", 1).await;
    client.stop().await;
    written["position"].as_i64().expect("a position")
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_are_installed_and_checked() {
    let database = fresh_database("install").await;
    let url = ["--database-url", database.url()];
    let check = ["schema", "check", url[0], url[1]];
    let lacks = refused(&check);
    assert!(lacks.contains("events: "), "{lacks}");
    assert!(lacks.contains("schema dcb is not installed"), "{lacks}");
    assert!(lacks.contains("messages: "), "{lacks}");
    printed(&["schema", "install", url[0], url[1]]);
    let text = printed(&check);
    assert_eq!(
        text,
        "the schemas of events and messages are as installed\n"
    );
    assert_eq!(use_server(database.url()).await, 0);
    sql(database.url(), "DROP VIEW message_store.type_summary").await;
    let differs = refused(&check);
    assert!(
        differs.contains("schema message_store: view type_summary is missing"),
        "{differs}"
    );
    assert!(refused(&["schema", "check"]).contains("--database-url"));
}

/// An administrator runs the printed SQL, for a login that may create nothing.
#[tokio::test(flavor = "multi_thread")]
async fn printed_sql_makes_a_database_that_serves_a_login_without_rights_to_create() {
    let database = fresh_database("print").await;
    let app = format!("app_{}", database.name());
    let text = printed(&["schema", "print"]);
    let grants: String = text
        .lines()
        .filter_map(|line| line.strip_prefix("-- GRANT"))
        .map(|grant| format!("GRANT{}\n", grant.replace(" app;", &format!(" {app};"))))
        .collect();
    let made = format!("CREATE ROLE {app} LOGIN;\n{text}\n{grants}");
    sql(database.url(), &made).await;
    let url = url_as(database.url(), &app);
    printed(&["schema", "check", "--database-url", &url]);
    printed(&["schema", "install", "--database-url", &url]);
    assert_eq!(use_server(&url).await, 0);
    assert_eq!(use_server(&url).await, 1);
    let ended = format!("DROP OWNED BY {app}; DROP ROLE {app}");
    sql(database.url(), &ended).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_message_db_reach_the_default_namespace() {
    let database = fresh_database("default").await;
    assert_eq!(use_server(database.url()).await, 0);
    let theirs = url_as(database.url(), "message_store");
    assert_eq!(sql(&theirs, WRITE).await, ["1"]);
    assert_eq!(use_server(database.url()).await, 2);
}

/// Earlier versions of the server made a separate schema for `default`.
#[tokio::test(flavor = "multi_thread")]
async fn default_namespace_in_another_schema_is_found() {
    let database = fresh_database("earlier").await;
    let config = Config::new(database.url());
    let name = NamespaceName::new("default").expect("a name");
    let earlier = PostgresNamespaces::connect(config)
        .await
        .expect("a database");
    earlier.create(&name, None).await.expect("a namespace");
    earlier.close().await;
    sql(
        database.url(),
        &WRITE.replace("write_message", "message_store_1.write_message"),
    )
    .await;
    assert_eq!(use_server(database.url()).await, 1);
    let url = ["--database-url", database.url()];
    printed(&["schema", "install", url[0], url[1]]);
    printed(&["schema", "check", url[0], url[1]]);
    assert_eq!(use_server(database.url()).await, 2);
}

/// The messages of a store that was in the database before become those of `default`.
#[tokio::test(flavor = "multi_thread")]
async fn messages_of_an_earlier_store_are_in_the_default_namespace() {
    let database = fresh_database("store").await;
    let store = PostgresStore::connect(Config::new(database.url())).await;
    store.expect("a store").close().await;
    let theirs = url_as(database.url(), "message_store");
    assert_eq!(sql(&theirs, WRITE).await, ["0"]);
    assert_eq!(use_server(database.url()).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn message_db_is_adopted_by_the_command() {
    let database = fresh_database("adopted").await;
    sql(database.url(), MESSAGE_DB).await;
    let Err(failed) = demo_server::Server::start(settings(database.url())).await else {
        panic!("the server changed a Message DB");
    };
    let advice = "demo-server schema install --adopt-message-db";
    assert!(failed.to_string().contains(advice), "{failed}");
    let install = ["schema", "install", "--database-url", database.url()];
    let check = ["schema", "check", "--database-url", database.url()];
    for command in [install, check] {
        let refused = refused(&command);
        assert!(refused.contains(advice), "{refused}");
    }
    let installed = sql(
        database.url(),
        "SELECT nspname::text FROM pg_namespace WHERE nspname ~ '^(dcb|message_store_)'",
    )
    .await;
    assert!(installed.is_empty(), "a refused adoption installs nothing");
    let mut adopt = install.to_vec();
    adopt.push("--adopt-message-db");
    printed(&adopt);
    assert_eq!(use_server(database.url()).await, 1);
    let theirs = url_as(database.url(), "message_store");
    assert_eq!(sql(&theirs, WRITE).await, ["2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn database_url_may_demand_certificates() {
    let server = LocalPostgres::start(Options {
        durability: Durability::Relaxed,
        ..Options::default()
    })
    .await
    .expect("PostgreSQL starts");
    let certificates = Certificates::make();
    certificates.install(server.url()).await;
    let url = certificates.url(server.url(), "certified", "verify-full");
    let with_client = url.clone() + &certificates.client_parameters();
    printed(&["schema", "install", "--database-url", &with_client]);
    assert_eq!(use_server(&with_client).await, 0);
    let lacks = refused(&["schema", "install", "--database-url", &url]);
    assert!(lacks.contains("client certificate"), "{lacks}");
    let other = Certificates::make();
    let other = other.url(server.url(), "postgres", "verify-full");
    let untrusted = refused(&["schema", "install", "--database-url", &other]);
    assert!(untrusted.contains("certificate"), "{untrusted}");
}

/// A key that is missing in the middle of the log is found by the whole comparison alone.
#[tokio::test(flavor = "multi_thread")]
async fn missing_keys_are_found_and_rebuilt_in_postgres() {
    let database = fresh_database("contents").await;
    let client = Client::with(settings(database.url())).await;
    for number in 0..3 {
        append(&client, json!([event("Tried", &["a"], number)])).await;
    }
    client.stop().await;
    sql(
        database.url(),
        "DELETE FROM dcb.event_tag WHERE position = 2",
    )
    .await;
    let url = ["--database-url", database.url()];
    let check = ["schema", "check", "--contents", url[0], url[1]];
    printed(&["schema", "check", url[0], url[1]]);
    let lacks = refused(&check);
    assert!(
        lacks.contains("1 keys are missing, the first at position 2"),
        "{lacks}"
    );
    assert!(lacks.contains("demo-server schema rebuild"), "{lacks}");
    printed(&["schema", "rebuild", url[0], url[1]]);
    printed(&check);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_keys_and_wrong_categories_are_found_and_rebuilt_in_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let client = Client::with(Settings {
        data: Some(folder.path().to_owned()),
        ..Settings::in_memory()
    })
    .await;
    append(&client, json!([event("Tried", &["a"], 0)])).await;
    write(&client, "a-1", 1).await;
    client.stop().await;
    let change = |file: &Path, sql: &str| {
        let opened = rusqlite::Connection::open(file).expect("a file");
        opened.execute_batch(sql).expect(sql);
    };
    let data = folder.path().to_str().expect("text");
    let check = ["schema", "check", "--contents", "--data", data];
    printed(&check);
    let events = folder.path().join("events.sqlite");
    change(&events, "UPDATE dcb_indexed SET through = 1");
    for file in std::fs::read_dir(folder.path().join("messages")).expect("a folder") {
        let file = file.expect("an entry").path();
        if file
            .extension()
            .is_some_and(|extension| extension == "sqlite")
        {
            change(&file, "UPDATE messages SET category = 'b'");
        }
    }
    let lacks = refused(&check);
    assert!(lacks.contains("events: 2 keys are missing"), "{lacks}");
    assert!(lacks.contains("messages: 1 in "), "{lacks}");
    let start = refused(&["--data", data, "--port", "0"]);
    assert!(start.contains("demo-server schema rebuild"), "{start}");
    printed(&["schema", "rebuild", "--data", data]);
    printed(&check);
}
