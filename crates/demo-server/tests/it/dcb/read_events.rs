//! `GET /dcb/read`.

use axum::http::{Method, StatusCode};
use demo_server::Settings;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::{append, append_many, positions, query, read};
use crate::support::Client;

#[tokio::test]
async fn options_select_events() {
    let client = Client::start().await;
    append_many(&client, 6).await;
    let all = json!({});
    for (options, expected) in [
        (json!({}), vec![1, 2, 3, 4, 5, 6]),
        (json!({ "from": 4 }), vec![4, 5, 6]),
        (json!({ "from": "4", "limit": 2 }), vec![4, 5]),
        (json!({ "limit": 0 }), vec![]),
        (json!({ "backwards": true }), vec![6, 5, 4, 3, 2, 1]),
        (
            json!({ "backwards": true, "from": 3, "limit": 2 }),
            vec![3, 2],
        ),
        (json!({ "backwards": true, "from": 0 }), vec![]),
        (
            json!({ "backwards": false, "from": 0 }),
            vec![1, 2, 3, 4, 5, 6],
        ),
        (json!({ "from": 7 }), vec![]),
        (
            json!({ "from": null, "limit": null, "backwards": null }),
            vec![1, 2, 3, 4, 5, 6],
        ),
    ] {
        assert_eq!(
            positions(&client, &all, &options).await,
            expected,
            "{options}"
        );
    }
    assert_eq!(
        positions(&client, &query(&[], &["even"]), &json!({ "from": 2 })).await,
        [3, 5]
    );
    client.stop().await;
}

#[tokio::test]
async fn read_without_parameters_returns_all_events() {
    let client = Client::start().await;
    assert_eq!(client.get("/dcb/read").await.text(), "[]");
    append_many(&client, 2).await;
    for path in ["/dcb/read", "/dcb/read?query=&options="] {
        assert_eq!(
            client.get(path).await.ok().as_array().map(Vec::len),
            Some(2)
        );
    }
    client.stop().await;
}

/// More events and more bytes than fit into one chunk.
#[tokio::test]
async fn long_response_is_complete_and_in_order() {
    let client = Client::start().await;
    append_many(&client, 1500).await;
    let large = "x".repeat(100_000);
    for _ in 0..5 {
        append(
            &client,
            json!({ "type": "Large", "data": large, "tags": ["all"] }),
        )
        .await;
    }
    let numbers: Vec<u64> = (1..=1505).collect();
    for query in [json!({}), query(&[], &["all"])] {
        assert_eq!(positions(&client, &query, &json!({})).await, numbers);
        let backwards = positions(&client, &query, &json!({ "backwards": true })).await;
        assert_eq!(backwards, numbers.iter().rev().copied().collect::<Vec<_>>());
        for limit in [255, 256, 257, 512, 1000, 1505, 2000] {
            let limited = positions(&client, &query, &json!({ "limit": limit })).await;
            assert_eq!(limited, numbers[..limit.min(1505)], "{limit}");
        }
        let from = json!({ "from": 300, "limit": 600 });
        assert_eq!(positions(&client, &query, &from).await, numbers[299..899]);
    }
    let events = read(&client, &query(&["Large"], &[]), &json!({})).await;
    assert!(events.iter().all(|event| event["data"] == large));
    client.stop().await;
}

/// Events that are appended while the response is sent are not part of it.
#[tokio::test(flavor = "multi_thread")]
async fn response_is_one_snapshot() {
    let client = Client::start().await;
    let large = "x".repeat(500_000);
    let large_event = || json!({ "type": "Large", "data": large, "tags": [] });
    for _ in 0..16 {
        append(&client, json!([large_event(), large_event()])).await;
    }
    let request = client.request(Method::GET, "/dcb/read");
    let mut answer = client.open(request).await.into_body();
    let mut body = answer
        .frame()
        .await
        .unwrap()
        .unwrap()
        .into_data()
        .unwrap()
        .to_vec();
    append_many(&client, 1).await;
    while let Some(frame) = answer.frame().await {
        body.extend(frame.unwrap().into_data().unwrap());
    }
    let events: Vec<Value> = serde_json::from_slice(&body).unwrap();
    assert_eq!(events.len(), 32);
    client.stop().await;
}

/// A client that reads nothing holds no connection to the store, only a slot.
#[tokio::test(flavor = "multi_thread")]
async fn unread_responses_are_limited_and_block_no_other_reads() {
    let settings = Settings {
        max_subscriptions: 12,
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    let large = "x".repeat(1_000_000);
    for _ in 0..16 {
        append(
            &client,
            json!({ "type": "Large", "data": large, "tags": [] }),
        )
        .await;
    }
    let mut unread = Vec::new();
    for _ in 0..12 {
        unread.push(client.open(client.request(Method::GET, "/dcb/read")).await);
    }
    let refused = client.get("/dcb/read").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.json()["code"], "OVERLOADED");
    assert_eq!(refused.headers["retry-after"], "1");
    // A response in one piece needs no slot.
    assert_eq!(
        positions(&client, &json!({}), &json!({ "limit": 1 })).await,
        [1]
    );
    drop(unread);
    client.stop().await;
}
