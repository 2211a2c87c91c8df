use serde_json::{Value, json};

use crate::support::Client;
use crate::support::rpc::{assert_refused, call, rpc, write};

#[tokio::test]
async fn message_is_returned_byte_for_byte() {
    let client = Client::start().await;
    let body = r#"["stream.write","account-1",{"type":"Op\u0065ned","data":{"b":1.10,  "a":"\u0041", "b":2},"metadata":{"z":1e400}}]"#;
    let written = client.post_bytes("/rpc", body).await;
    assert_eq!(written.text(), r#"{"position":0,"globalPosition":1}"#);
    let read = client
        .post_bytes("/rpc", r#"["stream.get","account-1"]"#)
        .await;
    let text = read.text();
    let expected = r#","Opened",0,1,{"b":1.10,  "a":"\u0041", "b":2},{"z":1e400},""#;
    assert!(text.contains(expected), "{text}");
    let rows: Vec<Vec<Box<serde_json::value::RawValue>>> =
        serde_json::from_str(&text).expect("the rows are JSON");
    let time: String = serde_json::from_str(rows[0][6].get()).expect("the time is a string");
    assert!(time.ends_with('Z'), "{time}");
    time.parse::<jiff::Timestamp>().expect("the time is in UTC");
    client.stop().await;
}

#[tokio::test]
async fn rows_have_the_documented_fields_in_order() {
    let client = Client::start().await;
    let id = "12345678-1234-1234-1234-123456789abc";
    let message = json!({ "type": "Opened", "data": {}, "metadata": null });
    let options = json!({ "id": id, "expectedVersion": -1 });
    call(
        &client,
        json!(["stream.write", "account-1", message, options]),
    )
    .await;
    write(&client, "account-2", 7).await;
    let rows = call(&client, json!(["stream.get", "account-1", {}])).await;
    let time = rows[0][6].clone();
    assert_eq!(rows, json!([[id, "Opened", 0, 1, {}, null, time]]));
    let last = call(&client, json!(["stream.last", "account-1"])).await;
    assert_eq!(last, rows[0]);
    let rows = call(&client, json!(["category.get", "account"])).await;
    let with_stream = json!([id, "account-1", "Opened", 0, 1, {}, null, time]);
    assert_eq!(rows[0], with_stream);
    assert_eq!(rows[1][1], "account-2");
    assert_eq!(call(&client, json!(["category.get", ""])).await, rows);
    client.stop().await;
}

#[tokio::test]
async fn missing_stream_is_empty() {
    let client = Client::start().await;
    assert_eq!(call(&client, json!(["stream.get", "a-1"])).await, json!([]));
    assert_eq!(
        call(&client, json!(["stream.last", "a-1"])).await,
        Value::Null
    );
    assert_eq!(
        call(&client, json!(["stream.version", "a-1"])).await,
        Value::Null
    );
    assert_eq!(call(&client, json!(["category.get", "a"])).await, json!([]));
    assert_eq!(call(&client, json!(["ns.streams"])).await, json!([]));
    assert_eq!(call(&client, json!(["ns.categories"])).await, json!([]));
    assert_eq!(call(&client, json!(["ns.checkpoints"])).await, json!([]));
    client.stop().await;
}

#[tokio::test]
async fn last_returns_the_last_message_of_a_type() {
    let client = Client::start().await;
    for (message_type, number) in [("One", 1), ("Two", 2), ("One", 3)] {
        let message = json!({ "type": message_type, "data": number });
        call(&client, json!(["stream.write", "a-1", message])).await;
    }
    let last = call(&client, json!(["stream.last", "a-1", { "type": "Two" }])).await;
    assert_eq!(last[4], 2);
    let last = call(&client, json!(["stream.last", "a-1", { "type": "Three" }])).await;
    assert_eq!(last, Value::Null);
    assert_eq!(call(&client, json!(["stream.version", "a-1"])).await, 2);
    client.stop().await;
}

#[tokio::test]
async fn reads_start_at_the_given_position() {
    let client = Client::start().await;
    // The positions 0 to 9 in a-1 are the global positions 1, 3, 5 and so on.
    for number in 0..10 {
        write(&client, "a-1", number).await;
        write(&client, "b-1", number).await;
    }
    let numbers = async |options: Value| {
        let rows = call(&client, json!(["stream.get", "a-1", options])).await;
        let rows = rows.as_array().expect("the rows are an array").iter();
        rows.map(|row| row[4].as_u64().expect("it is a number"))
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(json!({ "position": 8 })).await, [8, 9]);
    assert_eq!(
        numbers(json!({ "position": 3, "batchSize": 2 })).await,
        [3, 4]
    );
    assert_eq!(numbers(json!({ "position": 10 })).await, [0; 0]);
    assert_eq!(
        numbers(json!({ "position": -1, "batchSize": 1 })).await,
        [0]
    );
    for (global, first) in [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (18, 9), (19, 9)] {
        let options = json!({ "globalPosition": global });
        assert_eq!(numbers(options).await.first(), Some(&first), "{global}");
    }
    assert_eq!(numbers(json!({ "globalPosition": 20 })).await, [0; 0]);
    for field in ["position", "globalPosition"] {
        let options = json!({ field: 18 });
        let rows = call(&client, json!(["category.get", "", options])).await;
        assert_eq!(rows.as_array().map(Vec::len), Some(3));
        assert_eq!(rows[0][4], 18);
    }
    client.stop().await;
}

#[tokio::test]
async fn wrong_expected_version_is_a_conflict() {
    let client = Client::start().await;
    let message = json!({ "type": "T", "data": {} });
    let write = async |expected: i64| {
        let options = json!({ "expectedVersion": expected });
        let call = json!(["stream.write", "a-1", message, options]);
        rpc(&client, "", call).await
    };
    let refused = write(0).await;
    assert_refused(&refused, 409, "STREAM_VERSION_CONFLICT");
    let details = &refused.json()["error"]["details"];
    assert_eq!(*details, json!({ "expected": 0, "actual": -1 }));
    assert_eq!(write(-1).await.ok()["position"], 0);
    assert_eq!(write(0).await.ok()["position"], 1);
    assert_refused(&write(-1).await, 409, "STREAM_VERSION_CONFLICT");
    assert_refused(&write(0).await, 409, "STREAM_VERSION_CONFLICT");
    assert_eq!(call(&client, json!(["stream.version", "a-1"])).await, 1);
    client.stop().await;
}

/// No engine may store an id twice.
#[tokio::test]
async fn repeated_id_returns_the_first_position_or_conflicts() {
    let client = Client::start().await;
    let id = "0193a0b4-0c00-7000-8000-000000000001";
    let write = async |stream: &str, data: Value| {
        let message = json!({ "type": "T", "data": data });
        let options = json!({ "id": id, "expectedVersion": -1 });
        rpc(
            &client,
            "",
            json!(["stream.write", stream, message, options]),
        )
        .await
    };
    let first = write("a-1", json!({ "n": 1 })).await.ok();
    assert_eq!(write("a-1", json!({ "n": 1 })).await.ok(), first);
    for refused in [
        write("a-1", json!({ "n": 2 })).await,
        write("a-2", json!({ "n": 1 })).await,
    ] {
        assert_refused(&refused, 409, "MESSAGE_ID_CONFLICT");
        assert_eq!(refused.json()["error"]["details"]["id"], id);
    }
    let rows = call(&client, json!(["category.get", ""])).await;
    assert_eq!(rows.as_array().map(Vec::len), Some(1));
    client.stop().await;
}

/// -1 is a valid size and must not overflow.
#[tokio::test]
async fn batch_size_limits_rows_and_minus_one_returns_all() {
    let client = Client::start().await;
    // The result is too large to be sent as a whole.
    let filling = "x".repeat(2000);
    for number in 0..1500 {
        let message = json!({ "type": "T", "data": [number, filling] });
        call(&client, json!(["stream.write", "a-1", message])).await;
    }
    for (method, name) in [
        ("stream.get", "a-1"),
        ("category.get", "a"),
        ("category.get", ""),
    ] {
        let column = if method == "stream.get" { 4 } else { 5 };
        for (size, count) in [(-1, 1500), (10_000, 1500), (0, 0), (1, 1), (777, 777)] {
            let call = json!([method, name, { "batchSize": size }]);
            let rows = rpc(&client, "", call).await.ok();
            let rows = rows.as_array().expect("the rows are an array");
            let numbers: Vec<_> = rows.iter().map(|row| row[column][0].clone()).collect();
            assert_eq!(numbers, (0..count).map(Value::from).collect::<Vec<_>>());
        }
        let rows = call(&client, json!([method, name])).await;
        assert_eq!(rows.as_array().map(Vec::len), Some(1000));
    }
    client.stop().await;
}

#[tokio::test]
async fn consumer_group_partitions_a_category_by_cardinal_id() {
    let client = Client::start().await;
    for number in 0..60 {
        write(&client, &format!("a-{}+{number}", number % 20), number).await;
    }
    let mut seen = Vec::new();
    for member in 0..3 {
        let group = json!({ "consumerGroup": { "member": member, "size": 3 } });
        let rows = call(&client, json!(["category.get", "a", group])).await;
        let rows = rows.as_array().expect("the rows are an array").clone();
        assert!(!rows.is_empty());
        // All messages with one cardinal id belong to one member.
        let ids = rows
            .iter()
            .map(|row| row[5].as_u64().expect("it is a number") % 20);
        let ids: std::collections::BTreeSet<_> = ids.collect();
        assert_eq!(rows.len(), ids.len() * 3);
        seen.extend(
            rows.iter()
                .map(|row| row[5].as_u64().expect("it is a number")),
        );
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..60).collect::<Vec<_>>());
    client.stop().await;
}

#[tokio::test]
async fn correlation_selects_messages_by_their_metadata() {
    let client = Client::start().await;
    for (number, origin) in [(1, "transfer-7"), (2, "transfers-7"), (3, "transfer-8+1")] {
        let metadata = json!({ "correlationStreamName": origin });
        let message = json!({ "type": "T", "data": number, "metadata": metadata });
        call(&client, json!(["stream.write", "account-1", message])).await;
    }
    for category in ["account", ""] {
        let options = json!({ "correlation": "transfer" });
        let rows = call(&client, json!(["category.get", category, options])).await;
        assert_eq!(rows.as_array().map(Vec::len), Some(2));
        assert_eq!((&rows[0][5], &rows[1][5]), (&json!(1), &json!(3)));
    }
    client.stop().await;
}

#[tokio::test]
async fn streams_and_categories_are_listed_by_name() {
    let client = Client::start().await;
    for stream in ["user-1", "account-2", "account-1", "account-1", "order-1"] {
        write(&client, stream, 0).await;
    }
    let names = async |options: Value| {
        let streams = call(&client, json!(["ns.streams", options])).await;
        let streams = streams.as_array().expect("the streams are an array").iter();
        streams
            .map(|entry| {
                entry["stream"]
                    .as_str()
                    .expect("the name is a string")
                    .to_owned()
            })
            .collect::<Vec<_>>()
    };
    let all = ["account-1", "account-2", "order-1", "user-1"];
    assert_eq!(names(json!({})).await, all);
    assert_eq!(names(json!({ "prefix": "", "cursor": "" })).await, all);
    assert_eq!(names(json!({ "prefix": "account" })).await, all[..2]);
    assert_eq!(names(json!({ "limit": 2 })).await, all[..2]);
    assert_eq!(
        names(json!({ "limit": 2, "cursor": "account-2" })).await,
        all[2..]
    );
    let streams = call(&client, json!(["ns.streams"])).await;
    assert_eq!(streams[0]["version"], 1);
    let active = streams[0]["lastActivity"]
        .as_str()
        .expect("the time is a string");
    assert!(active.ends_with('Z'), "{active}");
    let categories = call(&client, json!(["ns.categories"])).await;
    assert_eq!(
        categories,
        json!([
            { "category": "account", "streamCount": 2, "messageCount": 3 },
            { "category": "order", "streamCount": 1, "messageCount": 1 },
            { "category": "user", "streamCount": 1, "messageCount": 1 },
        ])
    );
    client.stop().await;
}

#[tokio::test]
async fn version_and_health_are_reported() {
    let client = Client::start().await;
    let version = call(&client, json!(["sys.version"])).await;
    assert_eq!(
        version.as_str().map(|text| text.split('.').count()),
        Some(3)
    );
    assert_eq!(
        client.get("/version").await.ok(),
        json!({ "version": version })
    );
    let health = call(&client, json!(["sys.health"])).await;
    let expected = json!({ "status": "ok", "backend": "sqlite", "connections": 0 });
    assert_eq!(health, expected);
    client.stop().await;
}

/// The published clients write the id into the message, where it once was ignored.
#[tokio::test]
async fn id_may_be_in_the_message_or_in_the_options() {
    const ID: &str = "01234567-89ab-7def-8123-456789abcdef";
    let client = Client::start().await;
    let inside = json!({ "type": "T", "data": 1, "id": ID });
    let plain = json!({ "type": "T", "data": 1 });
    for write in [
        json!(["stream.write", "a-1", inside]),
        json!(["stream.write", "a-1", plain, { "id": ID }]),
        json!(["stream.write", "a-1", inside, { "id": ID }]),
    ] {
        assert_eq!(call(&client, write).await["position"], 0);
    }
    let rows = call(&client, json!(["stream.get", "a-1"])).await;
    assert_eq!(rows.as_array().map(Vec::len), Some(1));
    assert_eq!(rows[0][0], ID);
    client.stop().await;
}
