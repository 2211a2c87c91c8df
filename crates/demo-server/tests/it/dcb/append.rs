use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{append, append_many, event, positions, query, read, without_id_and_time};
use crate::support::Client;

/// Appends with a condition. Returns whether the condition failed.
async fn fails(client: &Client, condition: Value) -> bool {
    let body = json!({ "events": event("Tried", &["tried"], 0), "condition": condition });
    let answer = client.post("/dcb/append", &body).await.ok();
    assert!(
        answer["durationInMicroseconds"].as_u64() >= Some(1),
        "{answer}"
    );
    answer["appendConditionFailed"]
        .as_bool()
        .expect("appendConditionFailed is a boolean")
}

#[tokio::test]
async fn one_or_several_events_are_appended_in_order() {
    let client = Client::start().await;
    append(&client, event("One", &["k:v"], 1)).await;
    append(
        &client,
        json!([event("Two", &[], 2), event("Three", &["k:v"], 3)]),
    )
    .await;
    let events = read(&client, &json!({}), &json!({})).await;
    let events: Vec<Value> = events.into_iter().map(without_id_and_time).collect();
    let expected = |event_type: &str, tags: &[&str], position: u64| {
        let data = format!("{{\"n\": {position}}}");
        json!({
            "type": event_type, "tags": tags, "data": data, "position": position, "metadata": {},
        })
    };
    assert_eq!(
        events,
        [
            expected("One", &["k:v"], 1),
            expected("Two", &[], 2),
            expected("Three", &["k:v"], 3),
        ]
    );
    client.stop().await;
}

#[tokio::test]
async fn data_and_tags_are_returned_unchanged() {
    let client = Client::start().await;
    let texts = [
        "{\"b\": 1, \"a\": 12345678901234567890, \"a\": 2}",
        "not JSON",
        "",
        "line\nbreak \u{1F980} \"quoted\" back\\slash \u{2028} \u{0}",
    ];
    for text in texts {
        append(
            &client,
            json!({ "type": "T\"\\", "data": text, "tags": ["a\"b", "a\\b", "no colon"] }),
        )
        .await;
    }
    let events = read(&client, &query(&["T\"\\"], &["a\"b", "a\\b"]), &json!({})).await;
    for (event, text) in events.iter().zip(texts) {
        assert_eq!(event["data"], text);
        assert_eq!(event["tags"], json!(["a\"b", "a\\b", "no colon"]));
    }
    assert_eq!(events.len(), texts.len());
    client.stop().await;
}

/// Metadata and the id once were accepted and lost.
#[tokio::test]
async fn metadata_and_id_come_back() {
    const ID: &str = "01234567-89ab-7def-8123-456789abcdef";
    let client = Client::start().await;
    let metadata = json!({ "z": "1", "correlationId": "r\"1", "a": "", "\u{1F980}": "x\ny" });
    let mut with_both = event("One", &[], 1);
    with_both["metadata"] = metadata.clone();
    with_both["id"] = json!(ID);
    append(&client, with_both.clone()).await;
    let stored = read(&client, &json!({}), &json!({})).await.remove(0);
    assert_eq!(stored["id"], ID);
    assert_eq!(stored["metadata"], metadata);
    // Metadata belongs to the content that a repeated append must have.
    append(&client, with_both.clone()).await;
    with_both["metadata"] = Value::Null;
    let other = json!({ "events": with_both });
    let other = client.post("/dcb/append", &other).await.json();
    assert_eq!(other["code"], "DUPLICATE_EVENT_ID");
    client.stop().await;
}

/// Clients also send numbers and booleans, which once were refused.
#[tokio::test]
async fn numbers_and_booleans_in_metadata_are_kept_as_their_json_text() {
    let client = Client::start().await;
    let values = r#"{"daysAgo":4,"price":1.50,"big":12345678901234567890123,"neg":-1e2,"on":true,"off":false}"#;
    let body = format!(r#"{{"events":{{"type":"T","data":"","metadata":{values}}}}}"#);
    client.post_bytes("/dcb/append", body).await.ok();
    let stored = read(&client, &json!({}), &json!({})).await.remove(0);
    let expected = json!({
        "daysAgo": "4", "price": "1.50", "big": "12345678901234567890123", "neg": "-1e2",
        "on": "true", "off": "false",
    });
    assert_eq!(stored["metadata"], expected);
    client.stop().await;
}

#[tokio::test]
async fn metadata_keeps_its_order() {
    let client = Client::start().await;
    let body = r#"{"events":{"type":"T","data":"","metadata":{"z":"1","a":"2","m":"3"}}}"#;
    client.post_bytes("/dcb/append", body).await.ok();
    let text = client.get("/dcb/read").await.text();
    assert!(
        text.contains(r#""metadata":{"z":"1","a":"2","m":"3"}"#),
        "{text}"
    );
    client.stop().await;
}

/// A text that is JSON stays a text, and an object an object, byte for byte.
#[tokio::test]
async fn data_comes_back_in_the_form_in_which_it_was_given() {
    let client = Client::start().await;
    for data in [
        r#""{\"n\": 1}""#,
        r#"{"b": 1.10,  "a":12345678901234567890, "a": [null, "\u0041"]}"#,
        "[1, {}]",
        "7",
        "true",
        "null",
        r#""""#,
    ] {
        client.post("/dcb/cleanup", &Value::Null).await.ok();
        let body = format!(r#"{{"events":{{"type":"T","data":{data},"metadata":{{"k":"v"}}}}}}"#);
        client.post_bytes("/dcb/append", body).await.ok();
        let text = client.get("/dcb/read").await.text();
        assert!(text.contains(&format!(r#""data":{data},"#)), "{text}");
        assert!(text.contains(r#""metadata":{"k":"v"}"#), "{text}");
    }
    client.stop().await;
}

/// White space between tokens may be a line break, which would end a line of an event stream.
#[tokio::test]
async fn line_breaks_in_a_value_become_spaces() {
    let client = Client::start().await;
    let body = "{\"events\":{\"type\":\"T\",\"data\":{\r\n\"a\":\n\"b\\n\"}}}";
    client.post_bytes("/dcb/append", body).await.ok();
    let text = client.get("/dcb/read").await.text();
    assert!(text.contains(r#""data":{  "a": "b\n"},"#), "{text}");
    client.stop().await;
}

#[tokio::test]
async fn answer_tells_the_positions() {
    let client = Client::start().await;
    append_many(&client, 2).await;
    let mut body = json!({
        "events": [event("A", &["a"], 0), event("B", &[], 0), event("C", &[], 0)],
        "condition": { "failIfEventsMatch": query(&[], &["a"]) },
    });
    let answer = client.post("/dcb/append", &body).await.ok();
    assert_eq!(
        (&answer["firstPosition"], &answer["lastPosition"]),
        (&json!(3), &json!(5))
    );
    let failed = client.post("/dcb/append", &body).await.ok();
    assert_eq!(failed["appendConditionFailed"], true);
    assert_eq!(
        (failed.get("firstPosition"), failed.get("lastPosition")),
        (None, None)
    );
    body["events"] = json!({ "type": "D", "data": "", "id": "d" });
    body["condition"] = Value::Null;
    for _ in 0..2 {
        // A repeated append answers the positions of the first.
        let answer = client.post("/dcb/append", &body).await.ok();
        assert_eq!(
            (&answer["firstPosition"], &answer["lastPosition"]),
            (&json!(6), &json!(6))
        );
    }
    client.stop().await;
}

/// The append once ignored a condition by this name, which `/dcb/project` itself uses.
#[tokio::test]
async fn condition_of_a_projection_is_accepted_by_its_name() {
    let client = Client::start().await;
    let taken = query(&[], &["seat:1"]);
    let project = json!({ "projectors": [{ "id": "seat", "query": taken }] });
    let projected = client.post("/dcb/project", &project).await.ok();
    let body = json!({
        "events": event("Taken", &["seat:1"], 0),
        "appendCondition": projected["appendCondition"],
    });
    for failed in [false, true] {
        let answer = client.post("/dcb/append", &body).await.ok();
        assert_eq!(answer["appendConditionFailed"], failed);
    }
    let mut both = body.clone();
    both["condition"] = body["appendCondition"].clone();
    let refused = client.post("/dcb/append", &both).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(refused.text().contains("condition"), "{}", refused.text());
    client.stop().await;
}

#[tokio::test]
async fn event_type_of_255_bytes_is_appended_and_found() {
    let client = Client::start().await;
    let longest = "com.example.courses.".repeat(13)[..255].to_owned();
    append(&client, event(&longest, &[], 1)).await;
    let found = read(&client, &query(&[&longest], &[]), &json!({})).await;
    assert_eq!(found[0]["type"], longest);
    client.stop().await;
}

#[tokio::test]
async fn failed_condition_is_answered_with_200_and_writes_nothing() {
    let client = Client::start().await;
    let taken = json!({ "failIfEventsMatch": query(&["Tried"], &["tried"]) });
    assert!(!fails(&client, taken.clone()).await);
    assert!(fails(&client, taken).await);
    assert_eq!(positions(&client, &json!({}), &json!({})).await, [1]);
    client.stop().await;
}

#[tokio::test]
async fn after_is_exclusive_and_may_be_a_number_or_a_string() {
    let client = Client::start().await;
    append_many(&client, 2).await;
    let condition =
        |after: Value| json!({ "failIfEventsMatch": query(&[], &["all"]), "after": after });
    for before in [json!(0), json!("0"), json!(1), json!("1"), Value::Null] {
        assert!(fails(&client, condition(before)).await);
    }
    assert!(!fails(&client, condition(json!(2))).await);
    assert!(!fails(&client, condition(json!("3"))).await);
    client.stop().await;
}

#[tokio::test]
async fn query_without_items_matches_every_event() {
    let client = Client::start().await;
    append_many(&client, 1).await;
    for all in [
        json!({}),
        json!({ "items": [] }),
        json!({ "items": null }),
        json!({ "items": [{}] }),
        json!({ "items": [{ "types": [], "tags": null }] }),
        json!({ "items": [{ "types": ["Absent"] }, {}] }),
    ] {
        assert!(
            fails(&client, json!({ "failIfEventsMatch": all })).await,
            "{all}"
        );
    }
    let absent = json!({ "failIfEventsMatch": query(&["Absent"], &[]) });
    assert!(!fails(&client, absent).await);
    client.stop().await;
}

#[tokio::test]
async fn every_item_of_a_condition_is_checked() {
    let client = Client::start().await;
    append(&client, event("Second", &["b"], 0)).await;
    let items = json!({ "items": [{ "types": ["First"], "tags": ["a"] }, { "tags": ["b"] }] });
    assert!(fails(&client, json!({ "failIfEventsMatch": items })).await);
    client.stop().await;
}

#[tokio::test]
async fn after_of_a_lost_event_is_refused() {
    let client = Client::start().await;
    append_many(&client, 3).await;
    let read = json!({ "query": {} });
    let read = client.post("/dcb/read", &read).await.ok();
    assert_eq!(read["checkpointEventId"], "3");
    let bookmark = read["checkpointBookmark"].clone();
    let seats = json!({ "id": "seats", "query": query(&["Counted"], &[]) });
    let projectors = json!({ "projectors": [seats] });
    let projected = client.post("/dcb/project", &projectors).await.ok();
    let condition = projected["appendCondition"].clone();
    assert_eq!(condition["after"], "3");
    let id = condition["afterEventId"].as_str().expect("an id");
    assert_eq!(bookmark, format!("3@{id}"));
    let absent =
        |after: &Value| json!({ "failIfEventsMatch": query(&["Absent"], &[]), "after": after });
    let attempt = async |condition: Value| {
        let body = json!({ "events": event("Tried", &[], 0), "condition": condition });
        client.post("/dcb/append", &body).await
    };
    assert_eq!(attempt(absent(&bookmark)).await.ok()["lastPosition"], 4);
    client.post("/dcb/cleanup", &Value::Null).await.ok();
    append_many(&client, 4).await;
    for condition in [condition, absent(&bookmark)] {
        let refused = attempt(condition).await;
        assert_eq!(refused.status, StatusCode::CONFLICT);
        assert_eq!(refused.json()["code"], "PAST_REPLACED");
        assert_eq!(refused.json()["details"], json!({ "position": 3 }));
    }
    for seats in [json!([seats]), json!([seats, { "id": "all", "query": {} }])] {
        let body = json!({ "projectors": seats, "after": bookmark });
        let refused = client.post("/dcb/project", &body).await;
        assert_eq!(refused.json()["code"], "PAST_REPLACED");
    }
    assert_eq!(positions(&client, &json!({}), &json!({})).await.len(), 4);
    assert_eq!(attempt(absent(&json!(3))).await.ok()["lastPosition"], 5);
    client.stop().await;
}

#[tokio::test]
async fn after_beyond_the_head_is_a_conflict() {
    let client = Client::start().await;
    append_many(&client, 3).await;
    let condition = json!({ "failIfEventsMatch": query(&["Absent"], &[]), "after": 4 });
    let body = json!({ "events": event("Tried", &[], 0), "condition": condition });
    let answer = client.post("/dcb/append", &body).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    let answer = answer.json();
    assert_eq!(answer["code"], "AFTER_BEYOND_HEAD");
    assert_eq!(answer["details"], json!({ "after": 4, "head": 3 }));
    assert_eq!(positions(&client, &json!({}), &json!({})).await.len(), 3);
    client.stop().await;
}

#[tokio::test]
async fn isolation_header_is_ignored() {
    let client = Client::start().await;
    let body =
        json!({ "events": event("Tried", &[], 0), "condition": { "failIfEventsMatch": {} } });
    for failed in [false, true] {
        let request = client.request(Method::POST, "/dcb/append");
        let request = request.header("X-Append-If-Isolation", "SERIALIZABLE");
        let answer = client.send(request, body.to_string()).await.ok();
        assert_eq!(answer["appendConditionFailed"], failed);
    }
    client.stop().await;
}

/// Many concurrent appends with the same condition, through all layers of the server.
#[tokio::test(flavor = "multi_thread")]
async fn exactly_one_of_many_concurrent_conditions_holds() {
    let client = Client::start().await;
    for round in 0..10 {
        let tag = format!("seat:{round}");
        let condition = json!({ "failIfEventsMatch": query(&[], &[&tag]) });
        let body = json!({ "events": event("Taken", &[&tag], 0), "condition": condition });
        let tries = (0..20).map(|_| client.post("/dcb/append", &body));
        let answers = futures_util::future::join_all(tries).await;
        let won = answers
            .iter()
            .filter(|answer| answer.ok()["appendConditionFailed"] == false);
        assert_eq!(won.count(), 1, "in round {round}");
    }
    assert_eq!(positions(&client, &json!({}), &json!({})).await.len(), 10);
    client.stop().await;
}
