//! Test mode, which requires no token.

use axum::http::StatusCode;
use demo_server::Settings;
use serde_json::json;

use super::{TOKEN, read, token_of, write};
use crate::support::rpc::{assert_refused, rpc};
use crate::support::{Answer, Client};

#[tokio::test]
async fn test_mode_requires_no_token_and_returns_one() {
    let client = Client::start().await;
    let answer = write(&client, "", json!(1)).await;
    answer.ok();
    let token = answer.headers["x-eventodb-token"]
        .to_str()
        .expect("it is UTF-8")
        .to_owned();
    assert!(token.starts_with("ns_ZGVmYXVsdA_"), "{token}");
    assert_eq!(read(&client, &token).await, [json!(1)]);
    // The token of `default` has admin rights, like a caller without a token.
    rpc(&client, &token, json!(["ns.list"])).await.ok();
    rpc(&client, "", json!(["ns.create", "tenant"])).await.ok();
    // A token that a caller sends is checked.
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
async fn test_mode_creates_a_namespace_on_first_use() {
    let settings = Settings {
        token: Some(TOKEN.to_owned()),
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    let tenant = token_of("dGVuYW50", '7');
    let writes = (0..8).map(|number| write(&client, &tenant, json!(number)));
    let answers = futures_util::future::join_all(writes).await;
    let is_answered = |answer: &&Answer| {
        answer
            .headers
            .get("x-eventodb-token")
            .is_some_and(|token| token == tenant.as_str())
    };
    assert!(answers.iter().filter(is_answered).count() >= 1);
    answers
        .iter()
        .for_each(|answer| assert_eq!(answer.status, StatusCode::OK));
    assert_eq!(read(&client, &tenant).await.len(), 8);
    // The new token has no admin rights; the token of `default` has.
    assert_refused(
        &rpc(&client, &tenant, json!(["ns.delete", "default"])).await,
        403,
        "AUTH_UNAUTHORIZED",
    );
    let deleted = rpc(&client, TOKEN, json!(["ns.delete", "tenant"]))
        .await
        .ok();
    assert_eq!(deleted["messagesDeleted"], 8);
    // `default` is created again too.
    write(&client, "", json!(1)).await.ok();
    rpc(&client, TOKEN, json!(["ns.delete", "default"]))
        .await
        .ok();
    assert!(read(&client, TOKEN).await.is_empty());
    client.stop().await;
}

/// A test server that other machines can reach must not be open to them.
#[tokio::test]
async fn require_token_applies_in_test_mode() {
    let settings = Settings {
        require_token: true,
        token: Some(TOKEN.to_owned()),
        ..Settings::in_memory()
    };
    let client = Client::with_token(settings, TOKEN).await;
    assert!(client.greeting().contains("admin token"));
    let list = async |token: &str| rpc(&client, token, json!(["ns.list"])).await;
    assert_refused(&list("").await, 401, "AUTH_REQUIRED");
    let unknown = token_of("dGVuYW50", '7');
    assert_refused(&list(&unknown).await, 403, "AUTH_UNAUTHORIZED");
    // The token of `default` still has admin rights.
    list(TOKEN).await.ok();
    client.stop().await;
}
