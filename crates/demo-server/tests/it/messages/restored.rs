//! A store that is put back from a backup. The bookmarks of clients lead to other messages, or to none.

use std::fs;
use std::path::Path;
use std::time::Duration;

use axum::http::Method;
use demo_server::Settings;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::Client;
use crate::support::rpc::{Events, assert_invalid, assert_refused, call, rpc, write};
use crate::support::sql::{fresh_database, sql};

/// Much longer than any step takes. Only a failing test waits this long.
const LIMIT: Duration = Duration::from_secs(60);
/// The messages that the backup has.
const KEPT: usize = 6;
/// The position of the last message that was lost.
const LAST: usize = 10;

async fn write_numbers(client: &Client, numbers: std::ops::Range<usize>) {
    for number in numbers {
        write(client, "a-1", number).await;
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder is created");
    for entry in fs::read_dir(from).expect("the folder can be read") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).expect("the file is copied")),
        }
    }
}

/// The bookmark of a row of a category.
fn bookmark(row: &Value) -> String {
    format!("{}@{}", row[4], row[0].as_str().expect("an id"))
}

/// All calls that take what a client keeps.
fn calls(after: &Value) -> Vec<Value> {
    let group = json!({ "member": 0, "size": 1 });
    vec![
        json!(["category.get", "a", { "after": after }]),
        json!(["category.get", "", { "after": after }]),
        json!(["category.get", "a", { "after": after, "batchSize": -1 }]),
        json!(["category.get", "a", { "after": after, "consumerGroup": group }]),
        json!(["stream.get", "a-1", { "after": after }]),
    ]
}

const SUBSCRIPTIONS: [&str; 4] = [
    "category=a",
    "all=true",
    "category=a&consumer=0&size=1",
    "stream=a-1",
];

async fn assert_lost(client: &Client, after: &Value, code: &str) {
    for call in calls(after) {
        let answer = rpc(client, "", call).await;
        assert_refused(&answer, 409, code);
        assert_eq!(answer.json()["error"]["details"]["after"], LAST);
    }
    let after = after
        .as_str()
        .map_or_else(|| after.to_string(), str::to_owned);
    for query in SUBSCRIPTIONS {
        let answer = client
            .get(&format!("/subscribe?{query}&after={after}"))
            .await;
        assert_refused(&answer, 409, code);
        // A browser that reconnects repeats the first position.
        let path = format!("/subscribe?{query}&position=0");
        let request = client.request(Method::GET, &path);
        let answer = client
            .send(request.header("Last-Event-ID", &after), "")
            .await;
        assert_refused(&answer, 409, code);
    }
}

#[tokio::test]
async fn what_clients_keep_does_not_fit_a_folder_put_back_from_a_backup() {
    for (grown, code) in [(false, "AFTER_BEYOND_HEAD"), (true, "PAST_REPLACED")] {
        let top = tempfile::tempdir().expect("the folder exists");
        let (folder, backup) = (top.path().join("data"), top.path().join("backup"));
        let settings = Settings {
            data: Some(folder.clone()),
            ..Settings::in_memory()
        };
        let client = Client::with(settings.clone()).await;
        write_numbers(&client, 0..KEPT).await;
        client.stop().await;
        copy(&folder, &backup);
        let client = Client::with(settings.clone()).await;
        write_numbers(&client, KEPT..LAST).await;
        let rows = call(&client, json!(["category.get", "a"])).await;
        let (kept, lost) = (bookmark(&rows[KEPT - 1]), bookmark(&rows[LAST - 1]));
        client.stop().await;
        fs::remove_dir_all(&folder).expect("the folder is removed");
        fs::rename(&backup, &folder).expect("the backup is put back");

        let client = Client::with(settings).await;
        let written = if grown { LAST - KEPT + 1 } else { 2 };
        write_numbers(&client, 100..100 + written).await;
        assert_lost(&client, &json!(lost), code).await;
        // A plain position notices only a store that ends before it.
        let plain = rpc(&client, "", json!(["category.get", "a", { "after": LAST }])).await;
        match grown {
            true => assert_eq!(plain.ok()[0][4], LAST + 1),
            false => assert_lost(&client, &json!(LAST), code).await,
        }
        // The clients go on after a message that the backup has.
        for call in calls(&json!(kept)) {
            let rows = rpc(&client, "", call.clone()).await.ok();
            assert_eq!(rows.as_array().map(Vec::len), Some(written), "{call}");
        }
        for query in SUBSCRIPTIONS {
            let query = format!("{query}&after={kept}");
            let mut events = Events::subscribe(&client, &query).await;
            assert_eq!(events.pokes(1).await[0]["globalPosition"], KEPT + 1);
        }
        client.stop().await;
    }
}

/// The id of a poke is the bookmark of its message.
#[tokio::test]
async fn subscription_continues_after_the_last_id() {
    let client = Client::start().await;
    write_numbers(&client, 0..4).await;
    write(&client, "b-1", 0).await;
    let rows = call(&client, json!(["category.get", "a"])).await;
    for query in SUBSCRIPTIONS {
        let mut events = Events::subscribe(&client, query).await;
        events.pokes(2).await;
        let id = events.last_id.clone().expect("an id");
        assert_eq!(id, bookmark(&rows[1]));
        for after in [id.as_str(), "2"] {
            let path = format!("/subscribe?{query}");
            let request = client.request(Method::GET, &path);
            let mut again = Events::of(client.open(request.header("Last-Event-ID", after)).await);
            let poke = again.pokes(1).await;
            assert_eq!(poke[0]["globalPosition"], 3, "{query} after {after}");
        }
    }
    client.stop().await;
}

#[tokio::test]
async fn malformed_place_is_named() {
    let client = Client::start().await;
    for after in [json!("x"), json!(-1), json!("7@"), json!("+7"), json!([])] {
        for call in calls(&after) {
            assert_invalid(&rpc(&client, "", call).await, "after");
        }
    }
    for query in ["after=x", "after=-1", "after=7@x", "after=1&position=1"] {
        let answer = client.get(&format!("/subscribe?category=a&{query}")).await;
        assert_invalid(&answer, "after");
    }
    let request = client.request(Method::GET, "/subscribe?category=a");
    let answer = client.send(request.header("Last-Event-ID", "x"), "").await;
    assert_invalid(&answer, "Last-Event-ID");
    for other in ["position", "globalPosition"] {
        for call in [
            json!(["category.get", "a", { "after": 1, other: 1 }]),
            json!(["stream.get", "a-1", { "after": 1, other: 1 }]),
        ] {
            assert_invalid(&rpc(&client, "", call).await, "after");
        }
    }
    // A subscription that begins at a plain position beyond the end has no event to wait for.
    let mut events = Events::subscribe(&client, "category=a&position=20").await;
    let (name, error) = events.next().await.expect("an event");
    assert_eq!(
        (name.as_str(), &error["code"]),
        ("error", &json!("AFTER_BEYOND_HEAD"))
    );
    client.stop().await;
}

/// The server runs through the restore, and another one writes first.
#[tokio::test(flavor = "multi_thread")]
async fn open_subscription_ends_when_its_database_is_put_back() {
    let database = fresh_database("restored").await;
    let settings = Settings {
        database_url: Some(database.url().to_owned()),
        ..Settings::in_memory()
    };
    let client = Client::with(settings.clone()).await;
    write_numbers(&client, 0..KEPT).await;
    client.stop().await;
    let admin = local_postgres::shared_with(local_postgres::Durability::Relaxed).await;
    let admin = admin.expect("PostgreSQL starts").url().to_owned();
    let name = database.name();
    sql(
        &admin,
        &format!("CREATE DATABASE {name}_backup TEMPLATE {name}"),
    )
    .await;

    let client = Client::with(settings.clone()).await;
    write_numbers(&client, KEPT..LAST).await;
    let mut open = Vec::new();
    for query in SUBSCRIPTIONS {
        let mut events = Events::subscribe(&client, query).await;
        events.pokes(LAST).await;
        open.push(events);
    }
    sql(&admin, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
    sql(
        &admin,
        &format!("ALTER DATABASE {name}_backup RENAME TO {name}"),
    )
    .await;
    let other = Client::with(settings).await;
    write_numbers(&other, 100..100 + LAST - KEPT + 1).await;
    for mut events in open {
        let end = timeout(LIMIT, events.next()).await.expect("an end in time");
        let (name, error) = end.expect("an event");
        let code = error["code"].as_str().expect("a code");
        // A read in the moment of the restore may find no database, and one before the other server writes
        // a store that ends earlier.
        let codes = ["PAST_REPLACED", "AFTER_BEYOND_HEAD", "BACKEND_ERROR"];
        assert!(name == "error" && codes.contains(&code), "{error}");
        let id = events.last_id.clone().expect("an id");
        assert_lost(&other, &json!(id), "PAST_REPLACED").await;
    }
    client.stop().await;
    other.stop().await;
}
