//! Subscribers that do not read.

use std::time::Duration;

use demo_server::Settings;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::append;
use super::subscribe::Stream;
use crate::support::Client;

/// The events, 15 MB in JSON, are more than the sockets of one subscriber can buffer.
const EVENTS: usize = 150;
const EVENT_BYTES: usize = 100_000;
/// Much longer than any step takes. Only a failing test waits this long.
const LIMIT: Duration = Duration::from_secs(60);

/// Data in which every eight characters differ, so that a lost or repeated piece shows.
fn data(number: usize) -> String {
    let mut text = String::new();
    for place in 0..EVENT_BYTES / 8 {
        text.push_str(&format!("{number:03}{place:05}"));
    }
    text
}

async fn unread_bytes(client: &Client) -> usize {
    let text = client.get("/metrics").await.text();
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("registrar_subscription_unread_bytes "));
    line.expect("the metric is there")
        .parse()
        .expect("it is a number")
}

async fn read_all(stream: &mut Stream) {
    for number in 0..EVENTS {
        let event = timeout(LIMIT, stream.event())
            .await
            .expect("the event arrives");
        assert_eq!(event["position"], number + 1);
        assert!(event["data"] == data(number), "event {number} is damaged");
    }
}

async fn wait_until_given_back(client: &Client) {
    let returned = async {
        while unread_bytes(client).await > 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LIMIT, returned)
        .await
        .expect("the memory is given back");
}

/// There is memory for one large event at a time, and most subscribers read nothing. Still each of
/// them gets every event, and the one that reads gets them at once.
#[tokio::test(flavor = "multi_thread")]
async fn unread_events_use_bounded_memory_and_none_is_lost() {
    const MAX_BYTES: usize = 256 << 10;
    let settings = Settings {
        max_subscriptions: 4,
        subscriber_bytes: MAX_BYTES,
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    let mut idle = Vec::new();
    for _ in 0..3 {
        idle.push(Stream::open(&client, "/dcb/subscribe", None).await);
    }
    let mut reading = Stream::open(&client, "/dcb/subscribe", None).await;
    let mut most = 0;
    let appending = async {
        for number in 0..EVENTS {
            append(&client, json!({ "type": "Large", "data": data(number) })).await;
            let unread = unread_bytes(&client).await;
            assert!(unread <= MAX_BYTES, "{unread} bytes are unread");
            most = most.max(unread);
        }
    };
    tokio::join!(appending, read_all(&mut reading));
    assert!(most > 0, "every subscriber has read everything");
    for stream in &mut idle {
        read_all(stream).await;
    }
    wait_until_given_back(&client).await;
    client.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_of_a_subscriber_that_is_gone_is_given_back() {
    let client = Client::start().await;
    let streams = [
        Stream::open(&client, "/dcb/subscribe", None).await,
        Stream::open(&client, "/dcb/subscribe", None).await,
    ];
    for number in 0..EVENTS {
        append(&client, json!({ "type": "Large", "data": data(number) })).await;
    }
    while unread_bytes(&client).await == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    drop(streams);
    wait_until_given_back(&client).await;
    client.stop().await;
}
