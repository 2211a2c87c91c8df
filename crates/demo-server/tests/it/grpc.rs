//! The events over gRPC beside HTTP, on the same store.

use std::fs;

use dcb_grpc::proto::dcb_client::DcbClient;
use dcb_grpc::proto::{AppendRequest, Event, SubscribeRequest};
use demo_server::{Server, Settings};
use local_postgres::Certificates;
use serde_json::json;
use store_meter::testing::documented;
use tonic::transport::Channel;
use tonic::{Code, Request};

use crate::support::Client;

fn append() -> AppendRequest {
    let event = Event {
        event_type: "CourseOffered".to_owned(),
        ..Event::default()
    };
    AppendRequest {
        events: vec![event],
        ..AppendRequest::default()
    }
}

async fn connect(client: &Client) -> DcbClient<Channel> {
    let address = client.grpc_address().expect("gRPC is served");
    let channel = Channel::from_shared(format!("http://{address}")).unwrap();
    DcbClient::new(channel.connect().await.unwrap())
}

#[tokio::test]
async fn both_interfaces_have_one_log_and_one_end() {
    let settings = Settings {
        grpc_port: Some(0),
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    assert!(client.greeting().contains("gRPC: 127.0.0.1:"));
    let mut grpc = connect(&client).await;
    let subscribed = grpc.subscribe(SubscribeRequest::default()).await.unwrap();
    let mut events = subscribed.into_inner();
    let appended = grpc.append(append()).await.unwrap();
    assert_eq!(appended.into_inner().position, 1);
    let event = json!({"type": "CourseOffered", "tags": ["course:1"], "data": "{}"});
    let appended = client
        .post("/dcb/append", &json!({"events": [event]}))
        .await;
    assert_eq!(appended.ok()["lastPosition"], 2);
    let mut positions = Vec::new();
    while positions.len() < 2 {
        let message = events.message().await.unwrap().unwrap();
        positions.extend(message.events.iter().map(|event| event.position));
    }
    assert_eq!(positions, [1, 2]);

    let text = client.get("/metrics").await.text();
    let table = documented(include_str!("../../../dcb-grpc/README.md"), "dcb_grpc");
    assert!(!table.is_empty());
    for (name, kind, _) in table {
        assert!(
            text.contains(&format!("\n# TYPE {name} {kind}\n")),
            "{name}\n{text}"
        );
    }
    let calls = r#"dcb_grpc_calls_total{code="OK",method="Append"} 1"#;
    assert!(text.contains(calls), "{text}");
    // The subscription ends with the server, without an error.
    let (ended, ()) = tokio::join!(events.message(), client.stop());
    assert!(ended.unwrap().is_none());
}

#[tokio::test]
async fn key_is_required() {
    let settings = Settings {
        grpc_port: Some(0),
        grpc_key: Some("a key of many letters".to_owned()),
        ..Settings::in_memory()
    };
    let client = Client::with(settings).await;
    let mut grpc = connect(&client).await;
    let status = grpc.append(append()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
    let mut request = Request::new(append());
    let key = "Bearer a key of many letters".parse().unwrap();
    request.metadata_mut().insert("authorization", key);
    grpc.append(request).await.unwrap();
    drop(grpc);
    client.stop().await;
}

/// The error of a start with these settings.
async fn refused(settings: Settings) -> String {
    match Server::start(settings).await {
        Ok(_) => panic!("the server started"),
        Err(failed) => failed.to_string(),
    }
}

#[tokio::test]
async fn settings_that_leave_grpc_open_or_can_not_serve_it_are_refused() {
    let open = Settings {
        grpc_port: Some(0),
        require_token: true,
        ..Settings::in_memory()
    };
    assert!(refused(open).await.contains("--grpc-key"));

    let certificates = Certificates::make();
    let [certificate, key] = certificates.server();
    let with = |certificate, key| Settings {
        grpc_port: Some(0),
        grpc_cert: Some(certificate),
        grpc_tls_key: Some(key),
        ..Settings::in_memory()
    };
    let missing = refused(with("/no/such/file".into(), key.clone())).await;
    assert!(
        missing.contains("/no/such/file") && missing.contains("--grpc-cert"),
        "{missing}"
    );
    fs::write(&certificate, "not PEM").unwrap();
    let unusable = refused(with(certificate, key)).await;
    assert!(unusable.contains("--grpc-tls-key"), "{unusable}");
}
