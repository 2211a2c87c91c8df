//! Answers of a receiver that the test decides.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;

use super::load::{DECIMAL, Load};
use super::{in_memory, metric, wait_for};
use crate::support::Client;

/// A status, and the header `Retry-After`.
type Answer = (u16, Option<&'static str>);

/// A receiver that gives the next of these answers, and then 204.
#[derive(Clone, Default)]
struct Stub {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    requests: Arc<Mutex<Vec<(Instant, HeaderMap)>>>,
}

async fn write(State(stub): State<Stub>, headers: HeaderMap) -> Response {
    let now = (Instant::now(), headers);
    stub.requests.lock().expect("unlocked").push(now);
    let answer = stub.answers.lock().expect("unlocked").pop_front();
    let (status, after) = answer.unwrap_or((204, None));
    let status = StatusCode::from_u16(status).expect("a status");
    match after {
        Some(after) => (status, [(header::RETRY_AFTER, after)]).into_response(),
        None => status.into_response(),
    }
}

impl Stub {
    async fn start(answers: &[Answer]) -> (Self, SocketAddr) {
        let stub = Self::default();
        stub.answers.lock().expect("unlocked").extend(answers);
        let router = Router::new()
            .route("/push", post(write))
            .with_state(stub.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        tokio::spawn(async move { axum::serve(listener, router).await });
        (stub, address)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_have_the_headers_of_the_settings() {
    let (stub, address) = Stub::start(&[]).await;
    let mut settings = in_memory(&format!("http://ann:secret@{address}/push"));
    settings.forward_header = vec!["X-Scope-OrgID: team-7".to_owned()];
    let client = Client::with(settings).await;
    Load::new(&DECIMAL).write(&client).await;
    wait_for(&client, "registrar_forward_samples_sent_total ", |sent| {
        sent >= 100.0
    })
    .await;
    client.stop().await;
    let requests = stub.requests.lock().expect("unlocked");
    let headers = &requests.first().expect("a request").1;
    for (name, value) in [
        ("authorization", "Basic YW5uOnNlY3JldA=="),
        ("x-scope-orgid", "team-7"),
        ("content-encoding", "snappy"),
        ("content-type", "application/x-protobuf"),
        ("x-prometheus-remote-write-version", "0.1.0"),
    ] {
        assert_eq!(headers[name], value);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_receiver_gets_the_pause_that_it_asks_for() {
    let (stub, address) = Stub::start(&[(503, None), (429, Some("1"))]).await;
    let client = Client::with(in_memory(&format!("http://{address}/push"))).await;
    Load::new(&DECIMAL).write(&client).await;
    wait_for(&client, "registrar_forward_samples_sent_total ", |sent| {
        sent >= 100.0
    })
    .await;
    assert_eq!(
        metric(&client, "registrar_forward_retries_total ").await,
        2.0
    );
    client.stop().await;
    let requests = stub.requests.lock().expect("unlocked");
    // The least pause, so a slow machine does not fail the test.
    let pause = requests[2].0 - requests[1].0;
    assert!(pause >= Duration::from_secs(1), "{pause:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_samples_are_counted_and_later_ones_sent() {
    let (_stub, address) = Stub::start(&[(415, None)]).await;
    let client = Client::with(in_memory(&format!("http://{address}/push"))).await;
    let mut load = Load::new(&DECIMAL);
    load.write(&client).await;
    wait_for(
        &client,
        "registrar_forward_samples_rejected_total ",
        |rejected| rejected > 0.0,
    )
    .await;
    load.write(&client).await;
    wait_for(&client, "registrar_forward_samples_sent_total ", |sent| {
        sent >= 100.0
    })
    .await;
    assert_eq!(
        metric(&client, "registrar_forward_retries_total ").await,
        0.0
    );
    client.stop().await;
}

/// Samples once were dropped while a token had expired or a proxy had no route.
#[tokio::test(flavor = "multi_thread")]
async fn samples_wait_while_the_receiver_refuses_the_sender() {
    let answers = [401, 403, 404, 405, 407, 302].map(|status| (status, None));
    let (_stub, address) = Stub::start(&answers).await;
    let client = Client::with(in_memory(&format!("http://{address}/push"))).await;
    let mut load = Load::new(&DECIMAL);
    load.write(&client).await;
    wait_for(&client, "registrar_forward_samples_sent_total ", |sent| {
        sent >= 100.0
    })
    .await;
    for (metric_name, expected) in [
        ("registrar_forward_samples_rejected_total ", 0.0),
        ("registrar_forward_retries_total ", 6.0),
    ] {
        assert_eq!(metric(&client, metric_name).await, expected);
    }
    client.stop().await;
}
