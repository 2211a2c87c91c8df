use serde_json::json;

use crate::support::{database, json, printed, refused};

#[tokio::test(flavor = "multi_thread")]
async fn schemas_are_printed_installed_and_checked() {
    assert!(
        printed(&["schema", "print", "events", "--schema", "orders"]).contains("\"orders\".event")
    );
    assert!(printed(&["schema", "print", "messages"]).contains("message_store"));

    let database = database("schema").await;
    let url = database.place.as_str();
    let installed = json(&["schema", "install", url]);
    assert_eq!(
        installed,
        [json!({"done": "installed", "schemas": ["dcb", "message_store"]})]
    );
    let checked = json(&["schema", "check", url]);
    assert_eq!(checked[0]["done"], "as installed");

    let other = format!("{url}?schema=orders");
    refused(2, &["schema", "install", &other]);
    refused(4, &["schema", "check", &other, "--store", "events"]);
    printed(&["schema", "install", &other, "--store", "events"]);
    printed(&["schema", "check", &other, "--store", "events"]);
    printed(&["events", "append", &other, "A"]);
    assert_eq!(json(&["events", "stats", &other])[0]["events"], 1);
    assert_eq!(json(&["events", "stats", url])[0]["events"], 0);
}
