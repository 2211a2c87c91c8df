use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{append_many, assert_invalid, event, query};
use crate::support::Client;

fn projector(id: &str, query: &Value, initial: &Value) -> Value {
    json!({ "id": id, "query": query, "initialState": initial, "transitionFunction": "(s, e) => s" })
}

async fn project(client: &Client, projectors: Value, after: Value) -> Value {
    let body = json!({ "projectors": projectors, "after": after });
    let answer = client.post("/dcb/project", &body).await.ok();
    assert!(
        answer["durationInMicroseconds"].as_u64() >= Some(1),
        "{answer}"
    );
    answer
}

#[tokio::test]
async fn state_is_the_count_or_the_initial_state() {
    let client = Client::start().await;
    append_many(&client, 5).await;
    let initial = json!({ "users": 0, "n": 1.50, "list": [null, "x"] });
    let counted = projector("counted", &query(&["Counted"], &[]), &json!(10));
    let even = projector("even", &query(&[], &["even"]), &initial);
    let none = projector("none \"quoted\"", &query(&["Absent"], &[]), &initial);
    let without = json!({ "id": "without", "query": query(&["Absent"], &[]) });
    let answer = project(&client, json!([counted, even, none, without]), Value::Null).await;
    let states = json!({ "counted": 5, "even": 3, "none \"quoted\"": initial, "without": null });
    assert_eq!(answer["states"], states);
    for one in [&counted, &even, &none] {
        let alone = project(&client, json!([one]), Value::Null).await;
        let id = one["id"].as_str().unwrap();
        assert_eq!(alone["states"], json!({ id: states[id] }));
    }
    client.stop().await;
}

#[tokio::test]
async fn append_condition_detects_events_after_the_projection() {
    let client = Client::start().await;
    let even = projector("even", &query(&["Counted"], &["even"]), &json!(0));
    let odd = projector("odd", &query(&["Odd"], &[]), &json!(0));
    for projectors in [json!([even]), json!([even, odd])] {
        append_many(&client, 3).await;
        let condition = project(&client, projectors.clone(), Value::Null).await;
        let condition = condition["appendCondition"].clone();
        assert!(condition["after"].is_string(), "{condition}");
        let body = json!({ "events": event("Decided", &[], 0), "condition": condition });
        let first = client.post("/dcb/append", &body).await.ok();
        assert_eq!(first["appendConditionFailed"], false);
        append_many(&client, 1).await;
        let late = client.post("/dcb/append", &body).await.ok();
        assert_eq!(late["appendConditionFailed"], true);
    }
    client.stop().await;
}

#[tokio::test]
async fn append_condition_is_the_union_of_the_queries() {
    let client = Client::start().await;
    let one = projector("one", &query(&["A"], &["x"]), &json!(0));
    let two = projector("two", &query(&[], &["y"]), &json!(0));
    let answer = project(&client, json!([one, two]), Value::Null).await;
    let items = json!([{ "types": ["A"], "tags": ["x"] }, { "types": [], "tags": ["y"] }]);
    let condition = json!({ "failIfEventsMatch": { "items": items } });
    assert_eq!(
        answer["appendCondition"], condition,
        "the condition of an empty log has no after"
    );
    let all = projector("all", &json!({}), &json!(0));
    let answer = project(&client, json!([one, all]), Value::Null).await;
    let condition = json!({ "failIfEventsMatch": { "items": [] } });
    assert_eq!(answer["appendCondition"], condition);
    client.stop().await;
}

#[tokio::test]
async fn after_is_exclusive_and_may_be_beyond_the_head() {
    let client = Client::start().await;
    append_many(&client, 5).await;
    let all = projector("all", &query(&[], &["all"]), &json!("none"));
    let even = projector("even", &query(&[], &["even"]), &json!("none"));
    for projectors in [json!([all]), json!([all, even])] {
        for (after, count) in [(0, json!(5)), (3, json!(2)), (5, json!("none"))] {
            for after in [json!(after), json!(after.to_string())] {
                let answer = project(&client, projectors.clone(), after).await;
                assert_eq!(answer["states"]["all"], count);
                assert_eq!(answer["appendCondition"]["after"], "5");
            }
        }
        let beyond = project(&client, projectors, json!("1000")).await;
        assert_eq!(beyond["states"]["all"], "none");
        // A caller with a position from another log gets an error. Its append must not succeed.
        let condition = beyond["appendCondition"].clone();
        let body = json!({ "events": event("Decided", &[], 0), "condition": condition });
        let refused = client.post("/dcb/append", &body).await;
        assert_eq!(refused.status, StatusCode::CONFLICT);
        assert_eq!(refused.json()["code"], "AFTER_BEYOND_HEAD");
    }
    client.stop().await;
}

#[tokio::test]
async fn projectors_are_limited_and_have_unique_ids() {
    let client = Client::start().await;
    let post = async |projectors: Value| {
        client
            .post("/dcb/project", &json!({ "projectors": projectors }))
            .await
    };
    assert_invalid(&post(json!([])).await, "projectors");
    let one = projector("one", &json!({}), &json!(0));
    assert_invalid(&post(json!([one, one])).await, "projectors[1].id");
    let many = |count: usize, items: usize| -> Value {
        let items: Vec<Value> = (0..items)
            .map(|item| json!({ "tags": [item.to_string()] }))
            .collect();
        let query = json!({ "items": items });
        (0..count)
            .map(|id| projector(&id.to_string(), &query, &json!(0)))
            .collect()
    };
    assert_eq!(post(many(100, 10)).await.status, StatusCode::OK);
    assert_invalid(&post(many(101, 1)).await, "projectors");
    assert_invalid(&post(many(100, 11)).await, "projectors");
    assert_invalid(&post(json!([{ "id": "a" }])).await, "projectors[0]");
    let bad = projector("a", &query(&[""], &[]), &json!(0));
    assert_invalid(
        &post(json!([bad])).await,
        "projectors[0].query.items[0].types[0]",
    );
    client.stop().await;
}
