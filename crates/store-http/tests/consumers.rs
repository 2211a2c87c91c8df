//! `ns.checkpoints`, whose consumers have no path over HTTP.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use axum::{Extension, Router};
use message_store::{ExpectedVersion, Message, MessageStore as _, StreamName};
use serde_json::{Value, json};
use store_http::messages::{Caller, OpenNamespaces};
use store_http::{Limits, Service, messages};
use tower::ServiceExt as _;

#[tokio::test]
async fn consumers_are_listed_with_their_lag() -> Result<(), Box<dyn std::error::Error>> {
    let namespaces = message_store::AnyNamespaces::open("memory:").await?;
    let namespaces = Arc::new(OpenNamespaces::open(Arc::new(namespaces), None).await?);
    let namespace = namespaces.default_namespace().await?;
    let store = namespace.store.clone();
    let caller = Caller {
        namespace: Some(namespace),
        is_admin: false,
    };
    let service = Service::new(&Limits::default(), Arc::new(()));
    let router = messages::router(namespaces, &service).layer(Extension(caller));
    let app: Router = service.protect(router);

    let stream = StreamName::new("account-1")?;
    let mut heads = Vec::new();
    for _ in 0..3 {
        let message = Message::builder("Opened").build()?;
        store
            .write_message(&stream, message, ExpectedVersion::Any)
            .await?;
        heads.push(store.head().await?.expect("a message"));
    }
    store.save_checkpoint("account-mail", heads[0]).await?;
    store
        .save_checkpoint("account-reports-0-of-2", heads[2])
        .await?;

    let call = Request::post("/rpc").body(Body::from(r#"["ns.checkpoints"]"#))?;
    let answer = app.oneshot(call).await?;
    let body = to_bytes(answer.into_body(), usize::MAX).await?;
    let listed: Value = serde_json::from_slice(&body)?;
    let position = |index: usize| heads[index].position.get();
    assert_eq!(
        listed,
        json!([
            {"consumer": "account-mail", "globalPosition": position(0), "behind": position(2) - position(0)},
            {"consumer": "account-reports-0-of-2", "globalPosition": position(2), "behind": 0},
        ])
    );
    Ok(())
}
