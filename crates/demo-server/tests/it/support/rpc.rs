//! Calls and subscriptions of the messages interface.

use axum::http::{Method, header};
use axum::response::Response;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::support::{Answer, Client};

/// Calls a method. If `token` is empty, the request has no token.
pub(crate) async fn rpc(client: &Client, token: &str, call: Value) -> Answer {
    let mut request = client.request(Method::POST, "/rpc");
    if !token.is_empty() {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    client.send(request, call.to_string()).await
}

/// Calls a method in test mode and returns its result.
#[track_caller]
pub(crate) fn call(client: &Client, call: Value) -> impl Future<Output = Value> {
    let caller = std::panic::Location::caller();
    async move {
        let answer = rpc(client, "", call).await;
        assert!(answer.status.is_success(), "{caller}: {}", answer.text());
        answer.json()
    }
}

/// Writes a message with this number as its data.
pub(crate) async fn write(client: &Client, stream: &str, number: usize) -> Value {
    let message = json!({ "type": "Happened", "data": number });
    call(client, json!(["stream.write", stream, message])).await
}

#[track_caller]
pub(crate) fn assert_refused(answer: &Answer, status: u16, code: &str) {
    assert_eq!(answer.status, status, "{}", answer.text());
    let error = &answer.json()["error"];
    assert_eq!(error["code"], code, "{error}");
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    );
}

/// Asserts a 400 that names the field.
#[track_caller]
pub(crate) fn assert_invalid(answer: &Answer, field: &str) {
    assert_refused(answer, 400, "INVALID_REQUEST");
    let error = &answer.json()["error"];
    assert_eq!(error["details"]["field"], field, "{error}");
    let message = error["message"].as_str().expect("the message is a string");
    assert!(message.contains(field), "{message}");
}

/// A stream of server-sent events.
pub(crate) struct Events {
    body: Incoming,
    text: String,
    /// The id of the last event that had one.
    pub(crate) last_id: Option<String>,
}

impl Events {
    /// Subscribes in test mode.
    pub(crate) async fn subscribe(client: &Client, query: &str) -> Self {
        let request = client.request(Method::GET, &format!("/subscribe?{query}"));
        let response = client.open(request).await;
        assert_eq!(response.status(), 200);
        assert_eq!(
            response.headers()[header::CONTENT_TYPE],
            "text/event-stream"
        );
        Self::of(response)
    }

    pub(crate) fn of(response: Response<Incoming>) -> Self {
        Self {
            body: response.into_body(),
            text: String::new(),
            last_id: None,
        }
    }

    /// The name and data of the next event, or `None` at the end. Skips comments.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                let parsed = field("data: ").map(|data| {
                    let data = serde_json::from_str(data).expect("data is JSON");
                    (field("event: ").unwrap_or_default().to_owned(), data)
                });
                let id = field("id: ").map(str::to_owned);
                self.last_id = id.or(self.last_id.take());
                self.text = rest.to_owned();
                match parsed {
                    Some(event) => return Some(event),
                    None => continue,
                }
            }
            let frame = self.body.frame().await?.expect("the body is not cut off");
            let data = frame.into_data().expect("the frame has data");
            self.text
                .push_str(std::str::from_utf8(&data).expect("it is UTF-8"));
        }
    }

    /// The data of the next `count` pokes.
    pub(crate) async fn pokes(&mut self, count: usize) -> Vec<Value> {
        let mut pokes = Vec::with_capacity(count);
        while pokes.len() < count {
            let (name, data) = self.next().await.expect("another event arrives");
            assert_eq!(name, "poke", "{data}");
            pokes.push(data);
        }
        pokes
    }
}
