//! A server for tests, which asks for no token.

use axum::http::StatusCode;
use demo_server::Settings;
use serde_json::json;

use super::{TOKEN, read, token_of, write};
use crate::support::rpc::{assert_refused, rpc};
use crate::support::{Answer, Client};

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
