//! Invalid calls. Errors name the field.

use axum::http::{Method, header};
use serde_json::{Value, json};

use crate::support::Client;
use crate::support::rpc::{assert_invalid, assert_refused, rpc};

#[tokio::test]
async fn invalid_argument_is_named() {
    let client = Client::start().await;
    const ID_2: &str = "01234567-89ab-7def-8123-456789abcdef";
    let good = json!({ "type": "T", "data": 1 });
    let with_id = json!({ "type": "T", "data": 1, "id": "11234567-89ab-7def-8123-456789abcdef" });
    let with_typo = json!({ "type": "T", "data": 1, "metdata": {} });
    let long = "x".repeat(1025);
    let cases = [
        (json!(["stream.write"]), "stream"),
        (json!(["stream.write", 7, good]), "stream"),
        (json!(["stream.write", "", good]), "stream"),
        (json!(["stream.write", "a-\0", good]), "stream"),
        (json!(["stream.write", format!("a-{long}"), good]), "stream"),
        (json!(["stream.write", "a-1"]), "message"),
        (json!(["stream.write", "a-1", [1, 2]]), "message"),
        (json!(["stream.write", "a-1", { "data": 1 }]), "type"),
        (
            json!(["stream.write", "a-1", { "type": "", "data": 1 }]),
            "type",
        ),
        (
            json!(["stream.write", "a-1", { "type": 1, "data": 1 }]),
            "type",
        ),
        (
            json!(["stream.write", "a-1", { "type": long, "data": 1 }]),
            "type",
        ),
        (json!(["stream.write", "a-1", { "type": "T" }]), "data"),
        (json!(["stream.write", "a-1", good, 7]), "options"),
        (json!(["stream.write", "a-1", good, []]), "options"),
        (json!(["stream.write", "a-1", good, { "id": "7" }]), "id"),
        (json!(["stream.write", "a-1", good, { "id": 7 }]), "id"),
        (
            json!(["stream.write", "a-1", good, { "expectedVersion": -2 }]),
            "expectedVersion",
        ),
        (
            json!(["stream.write", "a-1", good, { "expectedVersion": "0" }]),
            "expectedVersion",
        ),
        (
            json!(["stream.write", "a-1", with_id, { "id": ID_2 }]),
            "id",
        ),
        (json!(["stream.write", "a-1", with_typo]), "metdata"),
        (
            json!(["stream.write", "a-1", good, { "expectdVersion": 0 }]),
            "expectdVersion",
        ),
        (json!(["stream.write", "a-1", good, {}, 1]), "arguments"),
        (json!(["stream.get"]), "stream"),
        (
            json!(["stream.get", "a-1", { "batchsize": 1 }]),
            "batchsize",
        ),
        (json!(["stream.version", "a-1", {}]), "arguments"),
        (json!(["ns.list", {}]), "arguments"),
        (
            json!(["stream.get", "a-1", { "position": "0" }]),
            "position",
        ),
        (
            json!(["stream.get", "a-1", { "position": 1.5 }]),
            "position",
        ),
        (
            json!(["stream.get", "a-1", { "globalPosition": [] }]),
            "globalPosition",
        ),
        (
            json!(["stream.get", "a-1", { "position": 1, "globalPosition": 1 }]),
            "globalPosition",
        ),
        (
            json!(["stream.get", "a-1", { "batchSize": 10_001 }]),
            "batchSize",
        ),
        (
            json!(["stream.get", "a-1", { "batchSize": -2 }]),
            "batchSize",
        ),
        (json!(["stream.last", "a-1", { "type": 7 }]), "type"),
        (json!(["stream.last", "a-1", { "type": "a\0" }]), "type"),
        (json!(["stream.version"]), "stream"),
        (json!(["category.get"]), "category"),
        (json!(["category.get", "a\0"]), "category"),
        (
            json!(["category.get", "a-1", { "batchSize": "7" }]),
            "batchSize",
        ),
        (
            json!(["category.get", "a", { "batchSize": 10_001 }]),
            "batchSize",
        ),
        (
            json!(["category.get", "a", { "batchSize": 1e9 }]),
            "batchSize",
        ),
        (
            json!(["category.get", "a", { "position": 1, "globalPosition": 1 }]),
            "globalPosition",
        ),
        (
            json!(["category.get", "a", { "correlation": "b-1" }]),
            "correlation",
        ),
        (
            json!(["category.get", "a", { "correlation": 7 }]),
            "correlation",
        ),
        (group(&json!(7)), "consumerGroup"),
        (
            group(&json!({ "member": 0, "size": 2, "sise": 2 })),
            "consumerGroup.sise",
        ),
        (group(&json!({ "size": 2 })), "consumerGroup.member"),
        (group(&json!({ "member": 0 })), "consumerGroup.size"),
        (
            group(&json!({ "member": 2, "size": 2 })),
            "consumerGroup.member",
        ),
        (
            group(&json!({ "member": -1, "size": 2 })),
            "consumerGroup.member",
        ),
        (
            group(&json!({ "member": 0, "size": 0 })),
            "consumerGroup.size",
        ),
        (
            group(&json!({ "member": "0", "size": 2 })),
            "consumerGroup.member",
        ),
        (json!(["ns.create"]), "namespace"),
        (json!(["ns.create", ""]), "namespace"),
        (json!(["ns.create", "x".repeat(65)]), "namespace"),
        (json!(["ns.create", "a\0"]), "namespace"),
        (json!(["ns.create", "a", { "token": 7 }]), "token"),
        (json!(["ns.create", "a", { "token": "secret" }]), "token"),
        (
            json!(["ns.create", "a", { "description": {} }]),
            "description",
        ),
        (json!(["ns.create", "a", { "metadata": 7 }]), "metadata"),
        (json!(["ns.delete", 7]), "namespace"),
        (json!(["ns.info"]), "namespace"),
        (json!(["ns.streams", { "limit": 0 }]), "limit"),
        (json!(["ns.streams", { "limit": 1001 }]), "limit"),
        (json!(["ns.streams", { "prefix": 7 }]), "prefix"),
        (json!(["ns.streams", { "cursor": "a\0" }]), "cursor"),
    ];
    for (call, field) in cases {
        let answer = rpc(&client, "", call.clone()).await;
        assert_eq!(answer.status, 400, "{call}");
        assert_invalid(&answer, field);
        assert!(!answer.text().contains("secret"));
    }
    // No case has written anything.
    let head = rpc(&client, "", json!(["category.get", ""])).await.ok();
    assert_eq!(head, json!([]));
    client.stop().await;
}

fn group(group: &Value) -> Value {
    json!(["category.get", "a", { "consumerGroup": group }])
}

#[tokio::test]
async fn json_with_deep_nesting_or_duplicate_members_is_rejected() {
    let client = Client::start().await;
    let write = async |message: &str| {
        let body = format!(r#"["stream.write","a-1",{message}]"#);
        client.post_bytes("/rpc", body).await
    };
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    let refused = write(&format!(r#"{{"type":"T","data":{deep}}}"#)).await;
    assert_invalid(&refused, "data");
    let refused = write(&format!(r#"{{"type":"T","data":1,"metadata":{deep}}}"#)).await;
    assert_invalid(&refused, "metadata");
    let refused = write(r#"{"type":"T","data":1,"data":2}"#).await;
    assert_invalid(&refused, "message");
    client.stop().await;
}

#[tokio::test]
async fn body_that_is_not_a_call_is_rejected() {
    let client = Client::start().await;
    for body in [
        "",
        "{}",
        "[]",
        "[7]",
        "null",
        "[\"stream.get\"",
        "[\"a\"] []",
        "\"ns_secret\"",
    ] {
        let answer = client.post_bytes("/rpc", body).await;
        assert_refused(&answer, 400, "INVALID_REQUEST");
        assert!(!answer.text().contains("secret"), "{}", answer.text());
    }
    let answer = client
        .post_bytes("/rpc", &b"[\"stream.get\",\"\xff\"]"[..])
        .await;
    assert_refused(&answer, 400, "INVALID_REQUEST");
    client.stop().await;
}

#[tokio::test]
async fn unknown_method_is_not_found() {
    let client = Client::start().await;
    for method in ["", "stream", "stream.drop", "STREAM.GET"] {
        let answer = rpc(&client, "", json!([method, "a-1"])).await;
        assert_refused(&answer, 404, "METHOD_NOT_FOUND");
    }
    client.stop().await;
}

#[tokio::test]
async fn wrong_http_method_is_405_and_allowed_methods_are_named() {
    let client = Client::start().await;
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let answer = client.send(client.request(method, "/rpc"), "").await;
        assert_refused(&answer, 405, "INVALID_REQUEST");
        assert_eq!(answer.headers[header::ALLOW], "POST");
    }
    let answer = client.get("/import").await;
    assert_refused(&answer, 405, "INVALID_REQUEST");
    client.stop().await;
}

#[tokio::test]
async fn body_above_the_limit_is_413() {
    let settings = demo_server::Settings {
        max_body_bytes: 1000,
        ..demo_server::Settings::in_memory()
    };
    let client = Client::with(settings).await;
    let message = json!({ "type": "T", "data": "x".repeat(1000) });
    let answer = rpc(&client, "", json!(["stream.write", "a-1", message])).await;
    assert_refused(&answer, 413, "BODY_TOO_LARGE");
    client.stop().await;
}
