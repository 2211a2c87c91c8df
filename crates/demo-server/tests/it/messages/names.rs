//! Stream names of every form, on both backends.

use std::collections::BTreeMap;

use demo_server::Settings;
use local_postgres::Durability;
use message_conformance::{NAMES, NameParts};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::Client;
use crate::support::rpc::{Events, assert_invalid, call, write};

#[tokio::test]
async fn stream_with_any_name_is_usable_on_sqlite() {
    let client = Client::start().await;
    assert_names_are_usable(&client).await;
    client.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_with_any_name_is_usable_on_postgres() {
    let server = local_postgres::shared_with(Durability::Relaxed);
    let server = server.await.expect("PostgreSQL starts");
    let database = server.create_database("names").await;
    let database = database.expect("the database is created");
    let client = Client::with(Settings {
        database_url: Some(database.url().to_owned()),
        ..Settings::in_memory()
    })
    .await;
    assert_names_are_usable(&client).await;
    client.stop().await;
}

async fn assert_names_are_usable(client: &Client) {
    for parts in NAMES {
        write(client, parts.name, 0).await;
        assert_stream_is_continued(client, parts).await;
    }
    assert_names_are_listed(client).await;
    for parts in NAMES {
        assert_category_has_stream(client, parts).await;
        assert_stream_is_imported(client, parts).await;
    }
}

async fn assert_stream_is_continued(client: &Client, parts: NameParts) {
    let name = parts.name;
    let message = json!({ "type": "Happened", "data": 1 });
    let expecting = json!({ "expectedVersion": 0 });
    let written = call(client, json!(["stream.write", name, message, expecting])).await;
    assert_eq!(written["position"], 1, "{parts:?}");
    let rows = call(client, json!(["stream.get", name])).await;
    assert_eq!(rows.as_array().map(Vec::len), Some(2), "{parts:?}");
    assert_eq!(call(client, json!(["stream.last", name])).await, rows[1]);
    let version = call(client, json!(["stream.version", name])).await;
    assert_eq!(version, 1, "{parts:?}");
}

async fn assert_names_are_listed(client: &Client) {
    let streams = call(client, json!(["ns.streams"])).await;
    let streams: Vec<&Value> = entries(&streams, "stream");
    let mut expected = NAMES.map(|parts| parts.name);
    expected.sort_unstable();
    assert_eq!(streams, expected);
    let categories = call(client, json!(["ns.categories"])).await;
    let mut counts = BTreeMap::new();
    for parts in NAMES {
        *counts.entry(parts.category).or_insert(0) += 1;
    }
    let expected: Vec<&str> = counts.keys().copied().collect();
    assert_eq!(entries(&categories, "category"), expected);
    let expected: Vec<i32> = counts.into_values().collect();
    assert_eq!(entries(&categories, "streamCount"), expected);
}

/// A member of each object of a list.
fn entries<'a>(list: &'a Value, member: &str) -> Vec<&'a Value> {
    let list = list.as_array().expect("the answer is a list").iter();
    list.map(|entry| &entry[member]).collect()
}

/// The empty category name stands for all messages, so it has the streams such as `-1` too.
async fn assert_category_has_stream(client: &Client, parts: NameParts) {
    let rows = call(client, json!(["category.get", parts.category])).await;
    let rows = rows.as_array().expect("the rows are a list");
    assert!(rows.iter().any(|row| row[1] == parts.name), "{parts:?}");
    let is_member = |row: &Value| {
        let mut members = NAMES
            .iter()
            .filter(|other| parts.category.is_empty() || other.category == parts.category);
        members.any(|member| row[1] == member.name)
    };
    assert!(rows.iter().all(is_member), "{parts:?}");
}

async fn assert_stream_is_imported(client: &Client, parts: NameParts) {
    let all = call(client, json!(["category.get", ""])).await;
    let last = all.as_array().and_then(|rows| rows.last());
    let head = last.and_then(|row| row[4].as_u64()).expect("a position");
    let line = json!({
        "id": Uuid::now_v7(),
        "stream": parts.name,
        "type": "Imported",
        "pos": 2,
        "gpos": head + 1,
        "data": 2,
        "time": "2026-01-15T10:30:00Z",
    });
    let imported = client.post_bytes("/import?force=true", line.to_string());
    let imported = imported.await.text();
    assert!(imported.contains("\"imported\":1"), "{parts:?}: {imported}");
    let rows = call(client, json!(["stream.get", parts.name])).await;
    assert_eq!(rows[2][1], "Imported", "{parts:?}");
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("stream", parts.name)
        .append_pair("position", "2")
        .finish();
    let poke = Events::subscribe(client, &query).await.pokes(1).await;
    assert_eq!(poke[0]["stream"], parts.name);
}

/// No stream is in such a category. A subscription to it is refused, because it would stay silent.
#[tokio::test]
async fn category_with_hyphen_is_empty() {
    let client = Client::start().await;
    write(&client, "a-1", 0).await;
    for category in ["a-1", "-", "a-"] {
        let rows = call(&client, json!(["category.get", category, {}])).await;
        assert_eq!(rows, json!([]), "{category}");
    }
    let refused = client.get("/subscribe?category=a-1").await;
    assert_invalid(&refused, "category");
    client.stop().await;
}
