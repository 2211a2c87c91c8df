//! Creating, deleting and keeping namespaces.

use std::path::Path;

use demo_server::Settings;
use serde_json::json;

use super::{ADMIN, TOKEN, create, folder, read, settings, token_of, write};
use crate::support::Client;
use crate::support::rpc::{assert_invalid, assert_refused, rpc};

/// A valid namespace token must not be enough to delete other namespaces.
#[tokio::test]
async fn only_the_admin_token_creates_lists_and_deletes_namespaces() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    let one = create(&client, "one").await;
    create(&client, "two").await;
    for token in [TOKEN, &one] {
        for call in [
            json!(["ns.create", "three"]),
            json!(["ns.delete", "two"]),
            json!(["ns.delete", "one"]),
            json!(["ns.delete", "default"]),
            json!(["ns.delete", "none"]),
            json!(["ns.list"]),
            json!(["ns.info", "two"]),
            json!(["ns.info", "none"]),
        ] {
            let answer = rpc(&client, token, call).await;
            assert_refused(&answer, 403, "AUTH_UNAUTHORIZED");
        }
    }
    let info = rpc(&client, &one, json!(["ns.info", "one"])).await.ok();
    assert_eq!(info["namespace"], "one");
    let list = rpc(&client, ADMIN, json!(["ns.list"])).await.ok();
    let names: Vec<_> = list
        .as_array()
        .expect("it is an array")
        .iter()
        .map(|entry| &entry["namespace"])
        .collect();
    assert_eq!(names, ["default", "one", "two"]);
    // The admin token belongs to no namespace.
    let answer = write(&client, ADMIN, json!(0)).await;
    assert_refused(&answer, 403, "AUTH_UNAUTHORIZED");
    client.stop().await;
}

#[tokio::test]
async fn namespace_is_usable_from_creation_to_deletion() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    let given = token_of("dGVuYW50", 'a');
    let options = json!({ "token": given, "description": "one", "metadata": { "plan": [1.50] } });
    let made = rpc(&client, ADMIN, json!(["ns.create", "tenant", options]))
        .await
        .ok();
    assert_eq!(made["token"], given);
    let created = made["createdAt"].as_str().expect("the time is a string");
    assert!(created.ends_with('Z'));
    let again = rpc(&client, ADMIN, json!(["ns.create", "tenant"])).await;
    assert_refused(&again, 409, "NAMESPACE_EXISTS");
    let info = rpc(&client, &given, json!(["ns.info", "tenant"]))
        .await
        .ok();
    let empty = json!({
        "namespace": "tenant", "description": "one", "metadata": { "plan": [1.50] },
        "createdAt": created, "messageCount": 0, "streamCount": 0, "lastActivity": null,
    });
    assert_eq!(info, empty);
    write(&client, &given, json!(1)).await.ok();
    write(&client, &given, json!(2)).await.ok();
    let info = rpc(&client, ADMIN, json!(["ns.info", "tenant"])).await.ok();
    assert_eq!(
        (&info["messageCount"], &info["streamCount"]),
        (&json!(2), &json!(1))
    );
    assert!(
        info["lastActivity"]
            .as_str()
            .is_some_and(|time| time.ends_with('Z'))
    );
    let list = rpc(&client, ADMIN, json!(["ns.list"])).await.ok();
    assert_eq!(list[1]["messageCount"], 2);
    assert_eq!(list[1]["createdAt"], created);
    let deleted = rpc(&client, ADMIN, json!(["ns.delete", "tenant"]))
        .await
        .ok();
    assert_eq!(deleted["namespace"], "tenant");
    assert_eq!(deleted["messagesDeleted"], 2);
    assert!(
        deleted["deletedAt"]
            .as_str()
            .is_some_and(|time| time.ends_with('Z'))
    );
    assert_refused(
        &write(&client, &given, json!(3)).await,
        403,
        "AUTH_UNAUTHORIZED",
    );
    for call in [json!(["ns.delete", "tenant"]), json!(["ns.info", "tenant"])] {
        assert_refused(&rpc(&client, ADMIN, call).await, 404, "NAMESPACE_NOT_FOUND");
    }
    // A namespace that is created again is empty, and its old token stays invalid.
    let new = create(&client, "tenant").await;
    assert_refused(
        &write(&client, &given, json!(3)).await,
        403,
        "AUTH_UNAUTHORIZED",
    );
    assert!(read(&client, &new).await.is_empty());
    let other = json!({ "token": token_of("ZGVmYXVsdA", 'b') });
    let refused = rpc(&client, ADMIN, json!(["ns.create", "other", other])).await;
    assert_invalid(&refused, "token");
    assert!(!refused.text().contains("bbbb"));
    client.stop().await;
}

/// A namespace name must never be joined unchecked into a path.
#[tokio::test]
async fn namespace_names_never_lead_out_of_the_data_folder() {
    let folder = folder();
    let inner = folder.path().join("data");
    let client = Client::with(settings(&inner)).await;
    let names = [
        "../evil",
        "../../evil",
        "..",
        ".",
        "/tmp/evil",
        "a/b",
        "a\\b",
        "A",
        "a",
        "%61",
        "ns_a.sqlite",
        "Größe",
        "a b",
        "a'; DROP TABLE messages; --",
        "con",
        "-",
    ];
    for (number, name) in names.iter().enumerate() {
        let token = create(&client, name).await;
        write(&client, &token, json!(number)).await.ok();
        assert_eq!(read(&client, &token).await, [json!(number)], "{name}");
    }
    let entries = |path: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(path).expect("the folder exists");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("the entry is readable").file_name()
        };
        entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect()
    };
    assert_eq!(entries(folder.path()), ["data"]);
    for entry in entries(&inner.join("messages")) {
        assert!(entry.starts_with("ns_"), "{entry}");
    }
    let list = rpc(&client, ADMIN, json!(["ns.list"])).await.ok();
    assert_eq!(list.as_array().map(Vec::len), Some(names.len() + 1));
    for name in names {
        let deleted = rpc(&client, ADMIN, json!(["ns.delete", name])).await.ok();
        assert_eq!(deleted["messagesDeleted"], 1);
    }
    client.stop().await;
}

#[tokio::test]
async fn namespaces_survive_a_restart_and_tokens_are_stored_as_hashes() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    let token = create(&client, "tenant").await;
    write(&client, &token, json!(1)).await.ok();
    write(&client, TOKEN, json!(2)).await.ok();
    client.stop().await;

    // Without `--token`, the stored token of `default` still works.
    let client = Client::with(Settings {
        token: None,
        ..settings(folder.path())
    })
    .await;
    assert!(!client.greeting().contains("namespace default"));
    assert_eq!(read(&client, &token).await, [json!(1)]);
    assert_eq!(read(&client, TOKEN).await, [json!(2)]);
    client.stop().await;

    // A token in the settings replaces the stored one.
    let other = token_of("ZGVmYXVsdA", '1');
    let client = Client::with(Settings {
        token: Some(other.clone()),
        ..settings(folder.path())
    })
    .await;
    assert_refused(
        &write(&client, TOKEN, json!(3)).await,
        403,
        "AUTH_UNAUTHORIZED",
    );
    assert_eq!(read(&client, &other).await, [json!(2)]);
    client.stop().await;

    let secrets = [&token, TOKEN, ADMIN, &other].map(|token| {
        token
            .rsplit('_')
            .next()
            .expect("the token has a secret")
            .to_owned()
    });
    let mut folders = vec![folder.path().to_owned()];
    while let Some(path) = folders.pop() {
        for entry in std::fs::read_dir(&path).expect("the folder exists") {
            let path = entry.expect("the entry is readable").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let content = std::fs::read(&path).expect("the file is readable");
            for secret in &secrets {
                let found = content
                    .windows(secret.len())
                    .any(|part| part == secret.as_bytes());
                assert!(!found, "{} contains a token", path.display());
            }
        }
    }
}
