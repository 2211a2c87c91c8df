//! Malformed requests.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{assert_invalid, encoded, event, positions};
use crate::support::Client;

#[tokio::test]
async fn malformed_json_is_400() {
    let client = Client::start().await;
    for path in ["/dcb/append", "/dcb/read", "/dcb/project"] {
        for body in [
            "",
            "{",
            "nonsense",
            "[]]",
            "\u{0}",
            "{\"events\": }",
            "{} {}",
            "null",
            "7",
        ] {
            let answer = client.post_bytes(path, body).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path} {body}");
            let answer = answer.json();
            assert_eq!(answer["code"], "INVALID_REQUEST", "{path} {body}");
            assert!(answer["error"].is_string(), "{path} {body}");
        }
        let invalid_utf8 = client.post_bytes(path, &b"{\"events\":\"\xff\"}"[..]).await;
        assert_eq!(invalid_utf8.status, StatusCode::BAD_REQUEST);
    }
    client.stop().await;
}

#[tokio::test]
async fn invalid_field_is_named() {
    let client = Client::start().await;
    let good = event("T", &["a"], 0);
    let with = |name: &str, value: Value| {
        let mut event = good.clone();
        event[name] = value;
        json!({ "events": [good, event] })
    };
    let when = |condition: Value| json!({ "events": good, "condition": condition });
    let matching = |query: Value| when(json!({ "failIfEventsMatch": query }));
    for (body, field) in [
        (json!({ "events": [] }), "events"),
        (json!({ "events": "x" }), "events"),
        (json!({ "events": [{ "data": "" }] }), "events[0]"),
        (json!({ "events": [{ "type": "T" }] }), "events[0]"),
        (with("type", json!("")), "events[1].type"),
        (with("type", json!("x".repeat(256))), "events[1].type"),
        (with("type", json!("a\u{0}b")), "events[1].type"),
        (with("type", json!(7)), "events[1].type"),
        (with("metadata", json!("x")), "events[1].metadata"),
        (with("metadata", json!({ "k": [] })), "events[1].metadata.k"),
        (with("metadata", json!({ "k": {} })), "events[1].metadata.k"),
        (
            with("metadata", json!({ "k": null })),
            "events[1].metadata.k",
        ),
        (with("metadata", json!({ "": "v" })), "events[1].metadata"),
        (
            with("metadata", json!({ "k": "a\u{0}b" })),
            "events[1].metadata",
        ),
        (
            with("metadata", json!({ "registrar.data": "json" })),
            "events[1].metadata",
        ),
        (with("tags", json!([""])), "events[1].tags"),
        (with("tags", json!(["x".repeat(1025)])), "events[1].tags"),
        (with("tags", json!(["a", 7])), "events[1].tags[1]"),
        (with("tags", json!("a")), "events[1].tags"),
        (with("id", json!(7)), "events[1].id"),
        (with("data", json!("x".repeat(1 << 20))), "events[1]"),
        (json!({ "events": vec![good.clone(); 1001] }), "events"),
        (json!({ "events": good, "conditions": {} }), "conditions"),
        (when(json!({})), "condition"),
        (when(json!("x")), "condition"),
        (matching(json!(7)), "condition.failIfEventsMatch"),
        (
            matching(json!({ "items": 7 })),
            "condition.failIfEventsMatch.items",
        ),
        (
            matching(json!({ "items": [7] })),
            "condition.failIfEventsMatch.items[0]",
        ),
        (
            matching(json!({ "items": [{ "types": ["A", ""] }] })),
            "condition.failIfEventsMatch.items[0].types[1]",
        ),
        (
            matching(json!({ "items": [{}, { "tags": ["x".repeat(1025)] }] })),
            "condition.failIfEventsMatch.items[1].tags[0]",
        ),
        (
            when(json!({ "failIfEventsMatch": {}, "after": -1 })),
            "condition.after",
        ),
        (
            when(json!({ "failIfEventsMatch": {}, "after": "x" })),
            "condition.after",
        ),
        (
            when(json!({ "failIfEventsMatch": {}, "after": 1.5 })),
            "condition.after",
        ),
    ] {
        assert_invalid(&client.post("/dcb/append", &body).await, field);
    }
    assert_eq!(positions(&client, &json!({}), &json!({})).await, [0; 0]);
    for (body, field) in [
        (json!({ "query": 7 }), "query"),
        (
            json!({ "query": {}, "options": { "backward": true } }),
            "options.backward",
        ),
        (
            json!({ "query": {}, "options": { "from": "x" } }),
            "options.from",
        ),
        (
            json!({ "query": {}, "options": { "backwards": 1 } }),
            "options.backwards",
        ),
    ] {
        assert_invalid(&client.post("/dcb/read", &body).await, field);
    }
    let missing = client.post("/dcb/read", &json!({})).await;
    assert_eq!(missing.status, StatusCode::BAD_REQUEST);
    assert!(missing.text().contains("query"), "{}", missing.text());
    client.stop().await;
}

#[tokio::test]
async fn query_and_append_costs_are_limited() {
    let client = Client::start().await;
    let names = |count: usize| (0..count).map(|name| name.to_string()).collect::<Vec<_>>();
    let items = |count: usize| json!({ "items": vec![json!({ "types": ["T"] }); count] });
    let pairs = |types, tags| json!({ "items": [{ "types": names(types), "tags": names(tags) }] });
    for (query, is_legal) in [
        (items(1000), true),
        (items(1001), false),
        (pairs(100, 100), true),
        (pairs(101, 100), false),
        (pairs(1, 10_001), false),
    ] {
        let answer = client.post("/dcb/read", &json!({ "query": query })).await;
        if is_legal {
            answer.ok();
        } else {
            assert_invalid(&answer, "query.items");
        }
    }
    let tags = names(1000);
    let tagged = json!({ "type": "T", "data": "", "tags": tags });
    let legal = json!({ "events": vec![tagged.clone(); 20] });
    client.post("/dcb/append", &legal).await.ok();
    let costly = json!({ "events": vec![tagged; 21] });
    assert_invalid(&client.post("/dcb/append", &costly).await, "events");
    client.stop().await;
}

#[tokio::test]
async fn invalid_parameter_is_named() {
    let client = Client::start().await;
    for (name, value, field) in [
        ("query", "%7B", "query"),
        ("query", "7", "query"),
        ("query", "%7B%7D%7B%7D", "query"),
        (
            "query",
            &encoded(&json!({ "items": [{ "types": [7] }] })),
            "query.items[0].types[0]",
        ),
        ("options", "x", "options"),
        (
            "options",
            &encoded(&json!({ "limit": -1 })),
            "options.limit",
        ),
        (
            "options",
            &encoded(&json!({ "from": "one" })),
            "options.from",
        ),
        ("options", &encoded(&json!({ "limt": 1 })), "options.limt"),
        ("option", "x", "option"),
    ] {
        let answer = client.get(&format!("/dcb/read?{name}={value}")).await;
        assert_invalid(&answer, field);
    }
    let twice = client.get("/dcb/read?query=&query=").await;
    assert_eq!(twice.status, StatusCode::BAD_REQUEST);
    let empty_tag = encoded(&json!({ "items": [{ "tags": [""] }] }));
    let answer = client.get(&format!("/dcb/read?query={empty_tag}")).await;
    assert_invalid(&answer, "query.items[0].tags[0]");
    client.stop().await;
}

#[tokio::test]
async fn wrong_method_is_405_and_unknown_path_is_404() {
    let client = Client::start().await;
    for (method, path) in [
        (Method::GET, "/dcb/append"),
        (Method::PUT, "/dcb/append"),
        (Method::DELETE, "/dcb/read"),
        (Method::GET, "/dcb/project"),
        (Method::POST, "/dcb/subscribe"),
        (Method::POST, "/dcb/read-test-data"),
        (Method::POST, "/dcb/benchmark-data"),
    ] {
        let answer = client.send(client.request(method, path), "").await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
        assert_eq!(answer.json()["code"], "METHOD_NOT_ALLOWED", "{path}");
        assert!(answer.headers.contains_key("allow"), "{path}");
    }
    assert_eq!(
        client.get("/dcb/append-if").await.status,
        StatusCode::NOT_FOUND
    );
    client.stop().await;
}

#[tokio::test]
async fn body_above_the_limit_is_413() {
    let client = Client::start().await;
    for path in ["/dcb/append", "/dcb/read", "/dcb/project", "/dcb/cleanup"] {
        let answer = client.post_bytes(path, vec![b' '; (16 << 20) + 1]).await;
        assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE, "{path}");
        assert_eq!(answer.json()["code"], "BODY_TOO_LARGE", "{path}");
    }
    client.stop().await;
}
