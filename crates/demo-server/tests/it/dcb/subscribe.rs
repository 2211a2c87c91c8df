use axum::http::{Method, StatusCode};
use demo_server::Settings;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::{append, append_many, assert_invalid, encoded, event, query, without_id_and_time};
use crate::support::Client;

/// A subscription, read frame by frame.
pub(super) struct Stream {
    body: Incoming,
    read: String,
}

impl Stream {
    pub(super) async fn open(client: &Client, path: &str, last_id: Option<&str>) -> Self {
        let request = client.request(Method::GET, path);
        let request = match last_id {
            Some(id) => request.header("Last-Event-ID", id),
            None => request,
        };
        let answer = client.open(request).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self {
            body: answer.into_body(),
            read: String::new(),
        }
    }

    /// The lines of the next event, or `None` at the end.
    async fn next(&mut self) -> Option<Vec<String>> {
        loop {
            if let Some((frame, rest)) = self.read.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.read = rest;
                if !frame.starts_with(':') {
                    return Some(frame.lines().map(str::to_owned).collect());
                }
                continue;
            }
            let frame = self.body.frame().await?.expect("the frame arrives");
            let data = frame.into_data().expect("the frame has data");
            self.read
                .push_str(std::str::from_utf8(&data).expect("it is UTF-8"));
        }
    }

    /// Reads the next event and checks its form.
    pub(super) async fn event(&mut self) -> Value {
        let frame = self.next().await.expect("the stream continues");
        let [id, name, data] = &frame[..] else {
            panic!("{frame:?}");
        };
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(*name, "event: event");
        let bookmark = format!("id: {}@{}", data["position"], data["id"].as_str().unwrap());
        assert_eq!(*id, bookmark);
        data
    }

    async fn positions<const COUNT: usize>(&mut self) -> [u64; COUNT] {
        let mut positions = [0; COUNT];
        for position in &mut positions {
            *position = self.event().await["position"].as_u64().unwrap();
        }
        positions
    }
}

#[tokio::test]
async fn subscription_sends_existing_events_then_new_ones() {
    let client = Client::start().await;
    append_many(&client, 2).await;
    let mut all = Stream::open(&client, "/dcb/subscribe", None).await;
    let even = format!(
        "/dcb/subscribe?query={}&after=",
        encoded(&query(&[], &["even"]))
    );
    let mut even = Stream::open(&client, &even, None).await;
    assert_eq!(all.positions().await, [1, 2]);
    assert_eq!(even.positions().await, [1]);
    append(
        &client,
        json!({ "type": "Late", "data": "a\nb", "tags": ["even"], "metadata": { "k": "v" } }),
    )
    .await;
    let expected = json!({
        "type": "Late", "tags": ["even"], "data": "a\nb", "position": 3, "metadata": { "k": "v" },
    });
    assert_eq!(without_id_and_time(all.event().await), expected);
    assert_eq!(without_id_and_time(even.event().await), expected);
    client.stop().await;
}

#[tokio::test]
async fn more_events_than_a_batch_arrive_in_order() {
    let client = Client::start().await;
    append_many(&client, 500).await;
    let mut stream = Stream::open(&client, "/dcb/subscribe", None).await;
    let positions = stream.positions::<500>().await;
    assert!(positions.iter().copied().eq(1..=500), "{positions:?}");
    client.stop().await;
}

#[tokio::test]
async fn subscription_resumes_after_the_last_seen_event() {
    let client = Client::start().await;
    append_many(&client, 5).await;
    let mut after = Stream::open(&client, "/dcb/subscribe?after=3", None).await;
    assert_eq!(after.positions().await, [4, 5]);
    let mut resumed = Stream::open(&client, "/dcb/subscribe?after=1", Some("4")).await;
    assert_eq!(resumed.positions().await, [5]);
    // An empty header means that the client has not seen any event.
    let mut first = Stream::open(&client, "/dcb/subscribe?after=3", Some("")).await;
    assert_eq!(first.positions().await, [4, 5]);
    let mut from_start = Stream::open(&client, "/dcb/subscribe?after=0", None).await;
    assert_eq!(from_start.positions().await, [1, 2, 3, 4, 5]);
    let mut at_head = Stream::open(&client, "/dcb/subscribe?after=5", None).await;
    append_many(&client, 1).await;
    assert_eq!(at_head.positions().await, [6]);
    client.stop().await;
}

#[tokio::test]
async fn invalid_subscription_gets_an_error_status() {
    let client = Client::start().await;
    append_many(&client, 2).await;
    let beyond = client.get("/dcb/subscribe?after=3").await;
    assert_eq!(beyond.status, StatusCode::CONFLICT);
    assert_eq!(beyond.json()["code"], "AFTER_BEYOND_HEAD");
    assert_eq!(beyond.json()["details"], json!({ "after": 3, "head": 2 }));
    assert_invalid(&client.get("/dcb/subscribe?after=x").await, "after");
    assert_invalid(&client.get("/dcb/subscribe?query=%7B").await, "query");
    let request = client.request(Method::GET, "/dcb/subscribe");
    let request = request.header("Last-Event-ID", "-1");
    assert_invalid(&client.send(request, "").await, "Last-Event-ID");
    client.stop().await;
}

/// A browser reconnects with the id of the last event that it has got.
#[tokio::test]
async fn subscription_does_not_resume_after_a_lost_event() {
    let client = Client::start().await;
    append_many(&client, 5).await;
    let mut stream = Stream::open(&client, "/dcb/subscribe", None).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        let event = stream.event().await;
        ids.push(format!(
            "{}@{}",
            event["position"],
            event["id"].as_str().unwrap()
        ));
    }
    let mut resumed = Stream::open(&client, "/dcb/subscribe", Some(&ids[2])).await;
    assert_eq!(resumed.positions().await, [4, 5]);
    client.post("/dcb/cleanup", &Value::Null).await.ok();
    append_many(&client, 7).await;
    let request = client.request(Method::GET, "/dcb/subscribe");
    let request = request.header("Last-Event-ID", &ids[4]);
    let by_header = client.send(request, "").await;
    let by_parameter = client
        .get(&format!("/dcb/subscribe?after={}", ids[4]))
        .await;
    for answer in [by_header, by_parameter] {
        assert_eq!(answer.status, StatusCode::CONFLICT);
        assert_eq!(answer.json()["code"], "PAST_REPLACED");
        assert_eq!(answer.json()["details"], json!({ "position": 5 }));
    }
    let mut plain = Stream::open(&client, "/dcb/subscribe?after=5", None).await;
    assert_eq!(plain.positions().await, [6, 7]);
    client.stop().await;
}

#[tokio::test]
async fn subscription_ends_if_the_log_is_replaced() {
    let client = Client::start().await;
    append_many(&client, 2).await;
    let mut stream = Stream::open(&client, "/dcb/subscribe?query=%7B%7D", None).await;
    assert_eq!(stream.positions().await, [1, 2]);
    client.post("/dcb/cleanup", &Value::Null).await.ok();
    append_many(&client, 3).await;
    let frame = stream.next().await.expect("an error event");
    assert_eq!(frame[0], "event: error");
    // The subscription may look while the log is still short.
    let is_told = ["PAST_REPLACED", "AFTER_BEYOND_HEAD"].map(|code| frame[1].contains(code));
    assert!(is_told.contains(&true), "{frame:?}");
    client.stop().await;
}

#[tokio::test]
async fn clearing_the_log_ends_the_subscription_with_an_error() {
    let client = Client::start().await;
    append_many(&client, 2).await;
    let mut stream = Stream::open(&client, "/dcb/subscribe", None).await;
    assert_eq!(stream.positions().await, [1, 2]);
    client.post("/dcb/cleanup", &Value::Null).await.ok();
    let frame = stream
        .next()
        .await
        .expect("the subscription ends with an error event");
    assert_eq!(frame[0], "event: error");
    assert!(frame[1].contains("AFTER_BEYOND_HEAD"), "{frame:?}");
    assert_eq!(stream.next().await, None);
    client.stop().await;
}

#[tokio::test]
async fn subscriptions_are_limited_and_a_closed_one_frees_its_slot() {
    let settings = Settings {
        max_subscriptions: 2,
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        streams.push(Stream::open(&client, "/dcb/subscribe", None).await);
    }
    let refused = client.get("/dcb/subscribe").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers["retry-after"], "1");
    drop(streams.pop());
    // The server may notice only at its next write that the client is gone.
    loop {
        append(&client, event("Tick", &[], 0)).await;
        let request = client.request(Method::GET, "/dcb/subscribe");
        let answer = client.open(request).await;
        if answer.status() == StatusCode::OK {
            break;
        }
        tokio::task::yield_now().await;
    }
    client.stop().await;
}

#[tokio::test]
async fn stopping_the_server_ends_subscriptions() {
    let client = Client::start().await;
    append_many(&client, 1).await;
    let mut stream = Stream::open(&client, "/dcb/subscribe", None).await;
    assert_eq!(stream.positions().await, [1]);
    let (_, ended) = tokio::join!(client.stop(), stream.next());
    assert_eq!(ended, None);
}

/// Appends and subscriptions run concurrently.
#[tokio::test(flavor = "multi_thread")]
async fn every_subscriber_gets_every_event_under_load() {
    let client = Client::start().await;
    let mut streams = Vec::new();
    for _ in 0..5 {
        streams.push(Stream::open(&client, "/dcb/subscribe", None).await);
    }
    let appending = async {
        for _ in 0..5 {
            let appends = (0..20).map(|_| append_many(&client, 3));
            futures_util::future::join_all(appends).await;
        }
    };
    let reading = streams.iter_mut().map(Stream::positions::<300>);
    let (_, read) = tokio::join!(appending, futures_util::future::join_all(reading));
    for positions in read {
        assert!(positions.iter().copied().eq(1..=300), "{positions:?}");
    }
    client.stop().await;
}
