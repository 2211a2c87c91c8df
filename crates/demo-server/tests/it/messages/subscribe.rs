use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, header};
use demo_server::Settings;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::support::Client;
use crate::support::rpc::{Events, assert_invalid, assert_refused, call, write};

/// Much longer than any step takes. Only a failing test waits this long.
const LIMIT: Duration = Duration::from_secs(60);

fn positions(pokes: &[Value], field: &str) -> Vec<u64> {
    let position = |poke: &Value| poke[field].as_u64().expect("the position is a number");
    pokes.iter().map(position).collect()
}

#[tokio::test]
async fn existing_and_new_messages_are_sent_once_and_in_order() {
    let client = Client::start().await;
    write(&client, "a-1", 0).await;
    write(&client, "b-1", 0).await;
    write(&client, "a-2", 0).await;
    let mut stream = Events::subscribe(&client, "stream=a-1").await;
    let mut category = Events::subscribe(&client, "category=a&position=2").await;
    let mut all = Events::subscribe(&client, "all=true&position=0").await;
    let poke = json!({ "stream": "a-1", "position": 0, "globalPosition": 1 });
    assert_eq!(stream.pokes(1).await, [poke]);
    write(&client, "b-1", 1).await;
    write(&client, "a-1", 1).await;
    let poke = json!({ "stream": "a-1", "position": 1, "globalPosition": 5 });
    assert_eq!(stream.pokes(1).await[0], poke);
    let pokes = category.pokes(2).await;
    assert_eq!(pokes[0]["stream"], "a-2");
    assert_eq!(pokes[1], poke);
    let pokes = all.pokes(5).await;
    assert_eq!(positions(&pokes, "globalPosition"), [1, 2, 3, 4, 5]);
    client.stop().await;
}

#[tokio::test]
async fn subscription_starts_at_its_position() {
    let client = Client::start().await;
    for number in 0..5 {
        write(&client, "a-1", number).await;
    }
    for (query, field, first) in [
        ("stream=a-1&position=3", "position", 3),
        ("stream=a-1&position=-1", "position", 0),
        ("stream=a-1&position=5", "position", 5),
        ("category=a&position=4", "globalPosition", 4),
        ("all=true&position=6", "globalPosition", 6),
        // Empty parameters count as missing.
        (
            "stream=&category=a&all=&position=&consumer=&size=",
            "globalPosition",
            1,
        ),
    ] {
        let mut events = Events::subscribe(&client, query).await;
        write(&client, "a-1", 0).await;
        let pokes = timeout(LIMIT, events.pokes(1))
            .await
            .expect("a poke arrives in time");
        assert_eq!(positions(&pokes, field), [first], "{query}");
    }
    client.stop().await;
}

/// Messages that are written between the first read and the first hint must not be lost.
#[tokio::test(flavor = "multi_thread")]
async fn subscribers_under_load_get_every_message() {
    const WRITERS: usize = 4;
    const EACH: usize = 300;
    let client = Arc::new(Client::start().await);
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let client = Arc::clone(&client);
            tokio::spawn(async move {
                for number in 0..EACH {
                    write(&client, &format!("a-{writer}"), number).await;
                }
            })
        })
        .collect();
    let mut readers = Vec::new();
    for _ in 0..12 {
        let mut events = Events::subscribe(&client, "category=a").await;
        readers.push(tokio::spawn(
            async move { events.pokes(WRITERS * EACH).await },
        ));
        sleep(Duration::from_millis(5)).await;
    }
    for writer in writers {
        writer.await.expect("the task does not panic");
    }
    let expected: Vec<u64> = (1..=(WRITERS * EACH) as u64).collect();
    for reader in readers {
        let pokes = timeout(LIMIT, reader)
            .await
            .expect("all pokes arrive in time");
        let pokes = pokes.expect("the task does not panic");
        assert_eq!(positions(&pokes, "globalPosition"), expected);
    }
}

/// Pokes must not be dropped if the subscriber does not read them in time.
#[tokio::test(flavor = "multi_thread")]
async fn slow_subscriber_gets_every_poke() {
    const MESSAGES: usize = 20_000;
    let client = Client::start().await;
    // The pokes, each over a kilobyte, are more than the sockets can buffer.
    let stream = format!("a-{}", "x".repeat(1000));
    let mut events = Events::subscribe(&client, &format!("stream={stream}")).await;
    let time = "2026-01-15T10:30:00Z";
    let mut lines = String::new();
    for number in 0..MESSAGES {
        let id = uuid::Uuid::from_u128(number as u128 + 1);
        let line = json!({
            "id": id, "stream": stream, "type": "T", "pos": number, "gpos": number + 1,
            "data": null, "time": time,
        });
        lines.push_str(&format!("{line}\n"));
    }
    let imported = client.post_bytes("/import", lines).await;
    assert!(
        imported.text().contains(r#""done":true"#),
        "{}",
        imported.text()
    );
    write(&client, &stream, 0).await;
    // The client reads nothing until all messages are written.
    let pokes = timeout(LIMIT, events.pokes(MESSAGES + 1)).await;
    let pokes = pokes.expect("all pokes arrive in time");
    let expected: Vec<u64> = (0..=MESSAGES as u64).collect();
    assert_eq!(positions(&pokes, "position"), expected);
    client.stop().await;
}

/// Existing and new messages must be partitioned by the same hash.
#[tokio::test]
async fn consumer_group_partitions_new_messages_like_existing_ones() {
    let client = Client::start().await;
    let mut members = Vec::new();
    for member in 0..3 {
        let query = format!("category=a&consumer={member}&size=3");
        members.push(Events::subscribe(&client, &query).await);
    }
    for number in 0..30 {
        write(&client, &format!("a-{}+{number}", number % 10), number).await;
    }
    let mut seen = BTreeSet::new();
    for (member, events) in members.iter_mut().enumerate() {
        let group = json!({ "consumerGroup": { "member": member, "size": 3 } });
        let rows = call(&client, json!(["category.get", "a", group])).await;
        let rows = rows.as_array().expect("the rows are an array");
        let pokes = timeout(LIMIT, events.pokes(rows.len())).await;
        let pokes = pokes.expect("the member's pokes arrive in time");
        for (row, poke) in rows.iter().zip(&pokes) {
            assert_eq!(
                (&row[1], &row[4]),
                (&poke["stream"], &poke["globalPosition"])
            );
            seen.insert(poke["globalPosition"].as_u64());
        }
        // A later subscription gets the same messages.
        let query = format!("category=a&consumer={member}&size=3");
        let mut later = Events::subscribe(&client, &query).await;
        assert_eq!(later.pokes(rows.len()).await, pokes);
    }
    assert_eq!(seen.len(), 30);
    client.stop().await;
}

#[tokio::test]
async fn invalid_parameter_is_named() {
    let client = Client::start().await;
    for (query, field) in [
        ("stream=a%00", "stream"),
        ("category=a-1", "category"),
        ("all=maybe", "all"),
        ("stream=a-1&position=x", "position"),
        ("category=a&position=1.5", "position"),
        ("category=a&consumer=0", "size"),
        ("category=a&size=2", "consumer"),
        ("category=a&consumer=2&size=2", "consumer"),
        ("category=a&consumer=-1&size=2", "consumer"),
        ("category=a&consumer=0&size=0", "size"),
        ("category=a&consumer=x&size=2", "consumer"),
        ("stream=a-1&consumer=0&size=2", "consumer"),
    ] {
        let answer = client.get(&format!("/subscribe?{query}")).await;
        assert_invalid(&answer, field);
    }
    for query in [
        "",
        "position=0",
        "stream=a-1&category=a",
        "stream=a-1&all=true",
        "category=a&all=true",
        "stream=",
        "stream=a-1&stream=a-2",
    ] {
        let answer = client.get(&format!("/subscribe?{query}")).await;
        assert_refused(&answer, 400, "INVALID_REQUEST");
    }
    client.stop().await;
}

#[tokio::test]
async fn subscriptions_are_counted_and_limited() {
    let settings = Settings {
        max_subscriptions: 1,
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    let mut only = Events::subscribe(&client, "all=true").await;
    write(&client, "a-1", 0).await;
    only.pokes(1).await;
    let health = call(&client, json!(["sys.health"])).await;
    assert_eq!(health["connections"], 1);
    let refused = client.get("/subscribe?all=true").await;
    assert_refused(&refused, 503, "OVERLOADED");
    assert_eq!(refused.headers[header::RETRY_AFTER], "1");
    drop(only);
    // The slot is free once the server notices that the client is gone.
    let freed = async {
        while call(&client, json!(["sys.health"])).await["connections"] != 0 {
            write(&client, "a-1", 0).await;
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, freed)
        .await
        .expect("the slot is freed in time");
    client.stop().await;
}

#[tokio::test]
async fn deleting_a_namespace_ends_its_subscriptions() {
    let client = Client::start().await;
    let made = call(&client, json!(["ns.create", "tenant"])).await;
    let token = made["token"].as_str().expect("the token is a string");
    let query = format!("/subscribe?all=true&token={token}");
    let response = client.open(client.request(Method::GET, &query)).await;
    let mut events = Events::of(response);
    call(&client, json!(["ns.delete", "tenant"])).await;
    let end = timeout(LIMIT, events.next())
        .await
        .expect("the subscription ends in time");
    let (name, error) = end.expect("the last event is an error");
    assert_eq!(
        (name.as_str(), &error["code"]),
        ("error", &json!("NAMESPACE_NOT_FOUND"))
    );
    assert_eq!(events.next().await, None);
    client.stop().await;
}

#[tokio::test]
async fn stopping_the_server_ends_subscriptions() {
    let client = Client::start().await;
    let mut events = Events::subscribe(&client, "all=true").await;
    write(&client, "a-1", 0).await;
    events.pokes(1).await;
    let (end, ()) = tokio::join!(events.next(), client.stop());
    assert_eq!(end, None);
}
