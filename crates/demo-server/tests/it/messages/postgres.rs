//! The messages interface on PostgreSQL, end to end.

use std::path::Path;
use std::time::Duration;

use axum::http::Method;
use demo_server::Settings;
use local_postgres::Durability;
use serde_json::{Value, json};

use crate::support::Client;
use crate::support::rpc::{Events, assert_invalid, assert_refused, rpc};

#[tokio::test(flavor = "multi_thread")]
async fn messages_interface_works_on_postgres() {
    let server = local_postgres::shared_with(Durability::Relaxed);
    let server = server.await.expect("PostgreSQL starts");
    let database = server
        .create_database("demo")
        .await
        .expect("the database is created");
    let folder = tempfile::tempdir().expect("the folder exists");
    let settings = Settings {
        test_mode: false,
        database_url: Some(database.url().to_owned()),
        data: Some(folder.path().to_owned()),
        admin_token: Some("administration".to_owned()),
        ..Settings::in_memory()
    };
    let client = Client::with(settings.clone()).await;
    let made = rpc(
        &client,
        "administration",
        json!(["ns.create", "../tenant", { "description": "one" }]),
    );
    let made = made.await.ok();
    let token = made["token"]
        .as_str()
        .expect("the token is a string")
        .to_owned();
    write_and_read(&client, &token).await;
    subscribe(&client, &token).await;
    client.stop().await;

    // A server that starts later finds the namespace and its token.
    let client = Client::with(settings).await;
    let version = rpc(&client, &token, json!(["stream.version", "a-1"])).await;
    assert_eq!(version.ok(), 1);
    let info = rpc(&client, &token, json!(["ns.info", "../tenant"]))
        .await
        .ok();
    assert_eq!(info["description"], "one");
    assert_eq!(
        (&info["messageCount"], &info["streamCount"]),
        (&json!(3), &json!(2))
    );
    let list = rpc(&client, "administration", json!(["ns.list"]))
        .await
        .ok();
    let names: Vec<&Value> = list
        .as_array()
        .expect("it is an array")
        .iter()
        .map(|entry| &entry["namespace"])
        .collect();
    assert_eq!(names, ["../tenant", "default"]);
    let deleted = rpc(&client, "administration", json!(["ns.delete", "../tenant"]))
        .await
        .ok();
    assert_eq!(deleted["messagesDeleted"], 3);
    let refused = rpc(&client, &token, json!(["stream.version", "a-1"])).await;
    assert_refused(&refused, 403, "AUTH_UNAUTHORIZED");
    client.stop().await;
}

/// Two servers share a database. Each soon sees the namespaces that the other deletes or creates
/// again.
#[tokio::test(flavor = "multi_thread")]
async fn namespace_deleted_by_another_server_stops_accepting_its_token() {
    let server = local_postgres::shared_with(Durability::Relaxed);
    let server = server.await.expect("PostgreSQL starts");
    let database = server
        .create_database("demo")
        .await
        .expect("the database is created");
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("the folder exists"));
    let start = async |folder: &Path| {
        Client::with(Settings {
            test_mode: false,
            database_url: Some(database.url().to_owned()),
            data: Some(folder.to_owned()),
            admin_token: Some("administration".to_owned()),
            ..Settings::in_memory()
        })
        .await
    };
    let one = start(folders[0].path()).await;
    let two = start(folders[1].path()).await;
    let administer = async |call: Value| rpc(&one, "administration", call).await.ok();
    let create = async || {
        let made = administer(json!(["ns.create", "tenant"])).await;
        made["token"]
            .as_str()
            .expect("the token is a string")
            .to_owned()
    };
    let write = async |token: &str| {
        let message = json!({ "type": "T", "data": 1 });
        rpc(&two, token, json!(["stream.write", "a-1", message])).await
    };
    let first = create().await;
    assert_eq!(write(&first).await.ok()["position"], 0);

    administer(json!(["ns.delete", "tenant"])).await;
    let refused = soon(async || {
        let answer = write(&first).await;
        (answer.status == 403).then_some(answer)
    });
    assert_refused(&refused.await, 403, "AUTH_UNAUTHORIZED");

    let second = create().await;
    assert_eq!(write(&second).await.ok()["position"], 0);
    administer(json!(["ns.delete", "tenant"])).await;
    let third = create().await;
    let written = soon(async || {
        let answer = write(&third).await;
        (answer.status == 200).then(|| answer.ok())
    });
    assert_eq!(written.await["position"], 0);
    assert_refused(&write(&second).await, 403, "AUTH_UNAUTHORIZED");
    one.stop().await;
    two.stop().await;
}

/// Repeats an attempt for up to 10 seconds, until it returns a value.
async fn soon<T>(attempt: impl AsyncFn() -> Option<T>) -> T {
    for _ in 0..100 {
        if let Some(found) = attempt().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no value in 10 seconds");
}

async fn write_and_read(client: &Client, token: &str) {
    let write = async |stream: &str, options: Value| {
        let message = json!({ "type": "T", "data": { "b": 1, "a": [2.50] }, "metadata": null });
        rpc(
            client,
            token,
            json!(["stream.write", stream, message, options]),
        )
        .await
    };
    let id = "0193a0b4-0c00-7000-8000-000000000001";
    let first = json!({ "id": id, "expectedVersion": -1 });
    assert_eq!(write("a-1", first.clone()).await.ok()["position"], 0);
    assert_eq!(write("a-1", first.clone()).await.ok()["position"], 0);
    assert_eq!(
        write("a-1", json!({ "expectedVersion": 0 })).await.ok()["position"],
        1
    );
    let refused = write("a-1", json!({ "expectedVersion": 0 })).await;
    assert_refused(&refused, 409, "STREAM_VERSION_CONFLICT");
    assert_refused(&write("a-2", first).await, 409, "MESSAGE_ID_CONFLICT");
    write("b-1", json!({})).await.ok();
    let rows = rpc(
        client,
        token,
        json!(["stream.get", "a-1", { "batchSize": -1 }]),
    )
    .await
    .ok();
    assert_eq!(rows[0][0], id);
    assert_eq!(rows[0][4], json!({ "b": 1, "a": [2.50] }));
    assert_eq!(rows[0][5], Value::Null);
    assert_eq!(rows.as_array().map(Vec::len), Some(2));
    let rows = rpc(
        client,
        token,
        json!(["category.get", "", { "batchSize": -1 }]),
    )
    .await
    .ok();
    assert_eq!(rows.as_array().map(Vec::len), Some(3));
    // jsonb can't store this character, which is the client's error.
    let message = r#"["stream.write","a-1",{"type":"T","data":"\u0000"}]"#;
    let request = client.request(Method::POST, &format!("/rpc?token={token}"));
    assert_invalid(&client.send(request, message).await, "data");
    let health = rpc(client, token, json!(["sys.health"])).await.ok();
    assert_eq!(health["backend"], "postgres");
}

async fn subscribe(client: &Client, token: &str) {
    let path = format!("/subscribe?category=a&token={token}");
    let mut events = Events::of(client.open(client.request(Method::GET, &path)).await);
    let pokes = events.pokes(2).await;
    assert_eq!(
        (&pokes[0]["position"], &pokes[1]["position"]),
        (&json!(0), &json!(1))
    );
}
