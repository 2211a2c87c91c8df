//! Tokens: who reaches what.

#[path = "support/rpc.rs"]
mod rpc;
mod support;

use std::path::Path;

use axum::http::{Method, StatusCode, header};
use demo_server::{Server, Settings};
use rpc::{Events, assert_invalid, assert_refused, rpc};
use serde_json::{Value, json};
use support::{Answer, Client};

const ADMIN: &str = "the administration's";
/// That of `default`.
const TOKEN: &str =
    "ns_ZGVmYXVsdA_0000000000000000000000000000000000000000000000000000000000000000";

fn settings(folder: &Path) -> Settings {
    Settings {
        data: Some(folder.to_owned()),
        test_mode: false,
        token: Some(TOKEN.to_owned()),
        admin_token: Some(ADMIN.to_owned()),
        ..Settings::in_memory()
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Makes a namespace; its token.
async fn create(client: &Client, name: &str) -> String {
    let made = rpc(client, ADMIN, json!(["ns.create", name])).await.ok();
    assert_eq!(made["namespace"], name);
    made["token"].as_str().expect("a token").to_owned()
}

async fn write(client: &Client, token: &str, data: Value) -> Answer {
    let message = json!({ "type": "T", "data": data });
    rpc(client, token, json!(["stream.write", "a-1", message])).await
}

/// The data of all messages.
async fn read(client: &Client, token: &str) -> Vec<Value> {
    let rows = rpc(client, token, json!(["stream.get", "a-1"])).await.ok();
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| row[4].clone()).collect()
}

/// The token of this secret and namespace.
fn token_of(encoded: &str, digit: char) -> String {
    format!("ns_{encoded}_{}", digit.to_string().repeat(64))
}

#[tokio::test]
async fn messages_ask_for_a_token() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    for (method, path) in [
        (Method::POST, "/rpc"),
        (Method::GET, "/subscribe?all=true"),
        (Method::POST, "/import"),
    ] {
        let none = client
            .send(client.request(method.clone(), path), "[]")
            .await;
        assert_refused(&none, 401, "AUTH_REQUIRED");
        assert_eq!(none.headers[header::WWW_AUTHENTICATE], "Bearer");
        let basic = client.request(method.clone(), path);
        let basic = basic.header(header::AUTHORIZATION, "Basic YTpi");
        assert_refused(&client.send(basic, "[]").await, 401, "AUTH_REQUIRED");
        for bad in ["x", "ns_", "ns_ZGVmYXVsdA_00", ADMIN.split_at(3).0] {
            let bad = client
                .request(method.clone(), path)
                .header(header::AUTHORIZATION, format!("Bearer {bad}"));
            assert_refused(&client.send(bad, "[]").await, 401, "AUTH_INVALID_TOKEN");
        }
        // Another token of a namespace that is there, and one of a namespace that is not.
        for other in [token_of("ZGVmYXVsdA", '1'), token_of("bm9uZQ", '0')] {
            let request = client.request(method.clone(), path);
            let request = request.header(header::AUTHORIZATION, format!("Bearer {other}"));
            let answer = client.send(request, "[]").await;
            assert_refused(&answer, 403, "AUTH_UNAUTHORIZED");
            assert!(
                !answer.text().contains(&"0".repeat(16)),
                "{}",
                answer.text()
            );
        }
    }
    // Everything else does not.
    client.get("/version").await.ok();
    client.stop().await;
}

#[tokio::test]
async fn a_token_comes_in_the_header_or_in_the_address() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    let body = r#"["stream.version","a-1"]"#;
    let encoded = TOKEN.replace('_', "%5F");
    for query in [format!("?token={TOKEN}"), format!("?x=1&token={encoded}&y")] {
        let answer = client.post_bytes(&format!("/rpc{query}"), body).await;
        assert_eq!(answer.ok(), Value::Null, "{query}");
    }
    for scheme in ["Bearer", "bearer", "Token"] {
        let request = client.request(Method::POST, "/rpc");
        let request = request.header(header::AUTHORIZATION, format!("{scheme} {TOKEN}"));
        assert_eq!(client.send(request, body).await.ok(), Value::Null);
    }
    let empty = client.post_bytes("/rpc?token=", body).await;
    assert_refused(&empty, 401, "AUTH_REQUIRED");
    let twice = format!("/rpc?token={TOKEN}&token={TOKEN}");
    assert_refused(
        &client.post_bytes(&twice, body).await,
        401,
        "AUTH_INVALID_TOKEN",
    );
    write(&client, TOKEN, json!(1)).await.ok();
    let path = format!("/subscribe?all=true&token={TOKEN}");
    let response = client.open(client.request(Method::GET, &path)).await;
    assert_eq!(Events::of(response).pokes(1).await.len(), 1);
    client.stop().await;
}

#[tokio::test]
async fn a_token_reaches_its_own_namespace_alone() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    let one = create(&client, "one").await;
    let two = create(&client, "two").await;
    for (token, data) in [(TOKEN, 0), (&*one, 1), (&*two, 2)] {
        assert_eq!(write(&client, token, json!(data)).await.ok()["position"], 0);
    }
    for (token, data) in [(TOKEN, 0), (&*one, 1), (&*two, 2)] {
        assert_eq!(read(&client, token).await, [json!(data)]);
    }
    // The secret of one with the name of the other.
    let (_, secret) = one.rsplit_once('_').expect("a secret");
    let (name, _) = two.rsplit_once('_').expect("a secret");
    let mixed = write(&client, &format!("{name}_{secret}"), json!(3)).await;
    assert_refused(&mixed, 403, "AUTH_UNAUTHORIZED");
    client.stop().await;
}

/// In the other server any token that was good could delete any namespace.
#[tokio::test]
async fn only_the_administration_makes_lists_and_deletes_namespaces() {
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
    let own = rpc(&client, &one, json!(["ns.info", "one"])).await.ok();
    assert_eq!(own["namespace"], "one");
    let list = rpc(&client, ADMIN, json!(["ns.list"])).await.ok();
    let names: Vec<_> = list
        .as_array()
        .expect("a list")
        .iter()
        .map(|own| &own["namespace"])
        .collect();
    assert_eq!(names, ["default", "one", "two"]);
    // It has none of its own.
    let answer = write(&client, ADMIN, json!(0)).await;
    assert_refused(&answer, 403, "AUTH_UNAUTHORIZED");
    client.stop().await;
}

#[tokio::test]
async fn a_namespace_lives_from_its_creation_to_its_deletion() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    let given = token_of("dGVuYW50", 'a');
    let options = json!({ "token": given, "description": "one", "metadata": { "plan": [1.50] } });
    let made = rpc(&client, ADMIN, json!(["ns.create", "tenant", options]))
        .await
        .ok();
    assert_eq!(made["token"], given);
    let created = made["createdAt"].as_str().expect("a time");
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
    // Made again it is empty, and the old token stays dead.
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

/// The other server joined a namespace's name unchecked into a path.
#[tokio::test]
async fn no_name_of_a_namespace_leads_out_of_the_folder() {
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
        let entries = std::fs::read_dir(path).expect("a folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
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
async fn namespaces_and_tokens_survive_a_restart_and_are_kept_as_hashes() {
    let folder = folder();
    let client = Client::with(settings(folder.path())).await;
    let token = create(&client, "tenant").await;
    write(&client, &token, json!(1)).await.ok();
    write(&client, TOKEN, json!(2)).await.ok();
    client.stop().await;

    // Without the tokens among the settings: that of `default` was kept when it was made.
    let client = Client::with(Settings {
        token: None,
        ..settings(folder.path())
    })
    .await;
    assert!(!client.greeting().contains("namespace default"));
    assert_eq!(read(&client, &token).await, [json!(1)]);
    assert_eq!(read(&client, TOKEN).await, [json!(2)]);
    client.stop().await;

    // One that is given takes its place.
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

    let secrets = [&token, TOKEN, ADMIN, &other]
        .map(|token| token.rsplit('_').next().expect("a part").to_owned());
    let mut folders = vec![folder.path().to_owned()];
    while let Some(path) = folders.pop() {
        for entry in std::fs::read_dir(&path).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let content = std::fs::read(&path).expect("a file");
            for secret in &secrets {
                let found = content
                    .windows(secret.len())
                    .any(|part| part == secret.as_bytes());
                assert!(!found, "{} has a token", path.display());
            }
        }
    }
}

#[tokio::test]
async fn tokens_that_are_made_are_shown_once() {
    let folder = folder();
    let settings = Settings {
        token: None,
        admin_token: None,
        ..settings(folder.path())
    };
    let client = Client::with(settings.clone()).await;
    let shown = |greeting: &str, what: &str| {
        let line = greeting.lines().find(|line| line.starts_with(what))?;
        line.rsplit_once(": ").map(|(_, token)| token.to_owned())
    };
    let greeting = client.greeting();
    let own = shown(&greeting, "token of the namespace default").expect("a token");
    let admin = shown(&greeting, "administration token").expect("a token");
    write(&client, &own, json!(1)).await.ok();
    rpc(&client, &admin, json!(["ns.list"])).await.ok();
    assert_refused(
        &rpc(&client, &own, json!(["ns.list"])).await,
        403,
        "AUTH_UNAUTHORIZED",
    );
    client.stop().await;

    let client = Client::with(settings).await;
    let greeting = client.greeting();
    assert_eq!(shown(&greeting, "token of the namespace default"), None);
    let new = shown(&greeting, "administration token").expect("a token");
    assert_eq!(read(&client, &own).await, [json!(1)]);
    rpc(&client, &new, json!(["ns.list"])).await.ok();
    let old = rpc(&client, &admin, json!(["ns.list"])).await;
    assert_refused(&old, 401, "AUTH_INVALID_TOKEN");
    client.stop().await;
}

#[tokio::test]
async fn the_token_of_default_may_be_any_text_but_that_of_another_namespace() {
    let folder = folder();
    let with = |token: &str| Settings {
        token: Some(token.to_owned()),
        ..settings(folder.path())
    };
    let client = Client::with(with("any text")).await;
    write(&client, "any text", json!(1)).await.ok();
    client.stop().await;
    for token in ["", &token_of("dGVuYW50", '0')] {
        let refused = Server::start(with(token)).await.err().expect("a refusal");
        assert!(!refused.to_string().contains(&"0".repeat(16)), "{refused}");
    }
}

#[tokio::test]
async fn test_mode_asks_for_no_token_and_answers_one() {
    let client = Client::start().await;
    let answer = write(&client, "", json!(1)).await;
    answer.ok();
    let token = answer.headers["x-eventodb-token"]
        .to_str()
        .expect("text")
        .to_owned();
    assert!(token.starts_with("ns_ZGVmYXVsdA_"), "{token}");
    assert_eq!(read(&client, &token).await, [json!(1)]);
    // That of `default` administers, as who brings none does.
    rpc(&client, &token, json!(["ns.list"])).await.ok();
    rpc(&client, "", json!(["ns.create", "tenant"])).await.ok();
    // One that is brought counts.
    assert_refused(
        &write(&client, "x", json!(2)).await,
        401,
        "AUTH_INVALID_TOKEN",
    );
    let wrong = token_of("dGVuYW50", '0');
    assert_refused(
        &write(&client, &wrong, json!(2)).await,
        403,
        "AUTH_UNAUTHORIZED",
    );
    client.stop().await;
}

#[tokio::test]
async fn in_test_mode_a_namespace_is_made_on_first_use() {
    let settings = Settings {
        token: Some(TOKEN.to_owned()),
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    let own = token_of("dGVuYW50", '7');
    let writes = (0..8).map(|number| write(&client, &own, json!(number)));
    let answers = futures_util::future::join_all(writes).await;
    let is_answered = |answer: &&Answer| {
        answer
            .headers
            .get("x-eventodb-token")
            .is_some_and(|token| token == own.as_str())
    };
    assert!(answers.iter().filter(is_answered).count() >= 1);
    answers
        .iter()
        .for_each(|answer| assert_eq!(answer.status, StatusCode::OK));
    assert_eq!(read(&client, &own).await.len(), 8);
    // It does not administer, T does.
    assert_refused(
        &rpc(&client, &own, json!(["ns.delete", "default"])).await,
        403,
        "AUTH_UNAUTHORIZED",
    );
    let deleted = rpc(&client, TOKEN, json!(["ns.delete", "tenant"]))
        .await
        .ok();
    assert_eq!(deleted["messagesDeleted"], 8);
    // `default` too is made again.
    write(&client, "", json!(1)).await.ok();
    rpc(&client, TOKEN, json!(["ns.delete", "default"]))
        .await
        .ok();
    assert!(read(&client, TOKEN).await.is_empty());
    client.stop().await;
}

/// The status of an answer, whatever is described.
async fn status(client: &Client, path: &str, token: &str) -> u16 {
    let mut request = client.request(Method::GET, path);
    if !token.is_empty() {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    client.open(request).await.status().as_u16()
}

#[tokio::test]
async fn everything_may_ask_for_a_token() {
    let folder = folder();
    let settings = Settings {
        require_token: true,
        ..settings(folder.path())
    };
    let client = Client::with_token(settings, TOKEN).await;
    let tenant = create(&client, "tenant").await;
    for open in ["/health", "/dcb/health", "/series/health"] {
        assert_eq!(status(&client, open, "").await, 200, "{open}");
    }
    // The page's own files are open too, wherever they are.
    for open in ["/", "/page/main.js"] {
        assert_ne!(status(&client, open, "").await, 401, "{open}");
    }
    let wrong = token_of("ZGVmYXVsdA", '1');
    for closed in [
        "/openapi.json",
        "/docs/",
        "/nowhere",
        "/dcb/nowhere",
        "/demo/state",
        "/api/v1/query",
        "/series/metrics",
        "/metrics",
        "/version",
        "//",
    ] {
        assert_eq!(status(&client, closed, "").await, 401, "{closed}");
        assert_eq!(status(&client, closed, &wrong).await, 403, "{closed}");
    }
    // What is no namespace's own is not for every namespace.
    for path in ["/openapi.json", "/nowhere", "/docs/"] {
        assert_eq!(status(&client, path, &tenant).await, 403, "{path}");
    }
    assert_eq!(status(&client, "/version", &tenant).await, 200);
    for token in [ADMIN, TOKEN] {
        assert_eq!(status(&client, "/openapi.json", token).await, 200);
        assert_eq!(status(&client, "/nowhere", token).await, 404);
    }
    let path = format!("/openapi.json?token={TOKEN}");
    assert_eq!(status(&client, &path, "").await, 200);
    client.stop().await;
}

/// Who listens for others in test mode with --require-token means it.
#[tokio::test]
async fn test_mode_does_not_take_back_that_a_token_is_asked_for() {
    let settings = Settings {
        require_token: true,
        token: Some(TOKEN.to_owned()),
        ..Settings::in_memory()
    };
    let client = Client::with_token(settings, TOKEN).await;
    assert!(client.greeting().contains("administration token"));
    let list = async |token: &str| rpc(&client, token, json!(["ns.list"])).await;
    assert_refused(&list("").await, 401, "AUTH_REQUIRED");
    let unknown = token_of("dGVuYW50", '7');
    assert_refused(&list(&unknown).await, 403, "AUTH_UNAUTHORIZED");
    // T still administers.
    list(TOKEN).await.ok();
    client.stop().await;
}
