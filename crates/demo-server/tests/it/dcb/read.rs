//! `POST /dcb/read`.

use serde_json::{Value, json};

use super::{append_many, query};
use crate::support::Client;

/// The number of matching events, and the checkpoint.
async fn count(client: &Client, query: Value, options: Value) -> (u64, Value) {
    let body = json!({ "query": query, "options": options });
    let answer = client.post("/dcb/read", &body).await.ok();
    assert!(
        answer["durationInMicroseconds"].as_u64() >= Some(1),
        "{answer}"
    );
    let number = answer["numberOfMatchingEvents"]
        .as_u64()
        .expect("it is a number");
    (number, answer["checkpointEventId"].clone())
}

#[tokio::test]
async fn read_returns_count_and_last_position() {
    let client = Client::start().await;
    let none = (0, Value::Null);
    assert_eq!(count(&client, json!({}), Value::Null).await, none);
    append_many(&client, 7).await;
    let last = |number: u64| json!(number.to_string());
    assert_eq!(count(&client, json!({}), Value::Null).await, (7, last(7)));
    assert_eq!(
        count(&client, json!({ "items": [] }), json!({})).await,
        (7, last(7))
    );
    let even = || query(&["Counted"], &["even"]);
    assert_eq!(count(&client, even(), Value::Null).await, (4, last(7)));
    assert_eq!(
        count(&client, query(&[], &["colonless"]), Value::Null).await,
        none
    );
    client.stop().await;
}

#[tokio::test]
async fn missing_checkpoint_is_left_out() {
    let client = Client::start().await;
    let answer = client.post("/dcb/read", &json!({ "query": {} })).await;
    assert!(
        !answer.text().contains("checkpointEventId"),
        "{}",
        answer.text()
    );
    client.stop().await;
}

#[tokio::test]
async fn from_is_inclusive_in_both_directions() {
    let client = Client::start().await;
    append_many(&client, 7).await;
    for from in [json!(3), json!("3")] {
        for (all, query) in [(true, json!({})), (false, query(&[], &["even"]))] {
            let forwards = count(&client, query.clone(), json!({ "from": from })).await;
            assert_eq!(forwards, (if all { 5 } else { 3 }, json!("7")));
            let options = json!({ "from": from, "backwards": true });
            let backwards = count(&client, query, options).await;
            assert_eq!(backwards, (if all { 3 } else { 2 }, json!("3")));
        }
    }
    let from = |from: u64, backwards: bool| json!({ "from": from, "backwards": backwards });
    assert_eq!(count(&client, json!({}), from(0, false)).await.0, 7);
    assert_eq!(count(&client, json!({}), from(0, true)).await.0, 0);
    assert_eq!(count(&client, json!({}), from(8, false)).await.0, 0);
    assert_eq!(count(&client, json!({}), from(8, true)).await.0, 7);
    assert_eq!(count(&client, json!({}), from(u64::MAX, false)).await.0, 0);
    assert_eq!(count(&client, json!({}), from(u64::MAX, true)).await.0, 7);
    client.stop().await;
}

/// Each append writes two events. A read sees both or none, and its count and checkpoint belong to
/// the same snapshot.
#[tokio::test(flavor = "multi_thread")]
async fn count_and_checkpoint_come_from_one_snapshot() {
    let client = Client::start().await;
    let appending = async {
        for _ in 0..50 {
            append_many(&client, 2).await;
        }
    };
    let counting = async {
        for _ in 0..100 {
            for query in [json!({}), query(&[], &["all"])] {
                let (number, checkpoint) = count(&client, query, Value::Null).await;
                assert_eq!(number % 2, 0);
                if number > 0 {
                    assert_eq!(checkpoint, json!(number.to_string()));
                }
            }
        }
    };
    tokio::join!(appending, counting);
    client.stop().await;
}
