//! The events interface on PostgreSQL, end to end.

use axum::http::Method;
use demo_server::Settings;
use local_postgres::Durability;
use serde_json::{Value, json};

use super::{append, append_many, event, positions, query};
use crate::support::Client;

#[tokio::test(flavor = "multi_thread")]
async fn events_interface_works_on_postgres() {
    let server = local_postgres::shared_with(Durability::Relaxed)
        .await
        .expect("PostgreSQL starts");
    let database = server
        .create_database("dcb_interface")
        .await
        .expect("the database is created");
    let settings = Settings {
        database_url: Some(database.url().to_owned()),
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    append_many(&client, 700).await;
    let even = query(&["Counted"], &["even"]);
    let count = json!({ "query": even, "options": { "from": "3" } });
    let count = client.post("/dcb/read", &count).await.ok();
    assert_eq!(count["numberOfMatchingEvents"], 349);
    assert_eq!(count["checkpointEventId"], "699");
    let numbers: Vec<u64> = (1..=700).collect();
    assert_eq!(positions(&client, &json!({}), &json!({})).await, numbers);
    let projector = |id: &str, query: &Value| json!({ "id": id, "query": query });
    let projectors = json!([projector("even", &even), projector("all", &json!({}))]);
    let projected = client
        .post("/dcb/project", &json!({ "projectors": projectors }))
        .await
        .ok();
    assert_eq!(projected["states"], json!({ "even": 350, "all": 700 }));
    assert_eq!(projected["appendCondition"]["after"], "700");
    let body = json!({
        "events": event("Tried", &[], 0),
        "condition": { "failIfEventsMatch": query(&[], &["all"]), "after": 699 },
    });
    let decide = async || client.post("/dcb/append", &body).await;
    assert_eq!(decide().await.ok()["appendConditionFailed"], true);
    // There are more clients than connections. If a client that reads nothing held a connection,
    // the calls below would wait.
    let large = json!({ "type": "Large", "data": "x".repeat(1_000_000) });
    for _ in 0..10 {
        append(&client, json!([large])).await;
    }
    let mut unread = Vec::new();
    for _ in 0..12 {
        unread.push(client.open(client.request(Method::GET, "/dcb/read")).await);
    }
    assert_eq!(
        positions(&client, &json!({}), &json!({ "limit": 1 })).await,
        [1]
    );
    client.post("/dcb/cleanup", &Value::Null).await.ok();
    drop(unread);
    assert_eq!(decide().await.json()["code"], "AFTER_BEYOND_HEAD");
    append_many(&client, 1).await;
    assert_eq!(positions(&client, &json!({}), &json!({})).await, [1]);
    client.stop().await;
}
