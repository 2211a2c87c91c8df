//! The interfaces of the three stores in a service of your own.
//!
//! ```text
//! cargo run -p store-http --example mount
//! ```

use std::sync::Arc;

use axum::routing::get;
use axum::{Extension, Json, Router};
use store_http::messages::{Caller, OpenNamespaces};
use store_http::series::Engine;
use store_http::{Limits, Service, dcb, explorer, messages, openapi, series};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

async fn app() -> Result<Router, BoxError> {
    let events = dcb_core::AnyStore::open("memory:").await?;
    let namespaces = message_store::AnyNamespaces::open("memory:").await?;
    let namespaces = Arc::new(OpenNamespaces::open(Arc::new(namespaces), None).await?);
    let db = tsdb::Db::new(tsdb::DbOptions::default());
    let engine = Arc::new(Engine::new(db, series::Options::default()));
    // All callers share one namespace. A layer that reads tokens could choose one for each.
    let namespace = Some(namespaces.default_namespace().await?);
    let is_admin = false;
    let caller = Caller {
        namespace,
        is_admin,
    };

    let service = Service::new(&Limits::default(), Arc::new(()));
    let stores = Router::new()
        .nest(
            "/dcb",
            dcb::router(events, dcb::Options::default(), &service),
        )
        .merge(messages::router(namespaces, &service).layer(Extension(caller)))
        .merge(series::router(&engine))
        .merge(explorer::router());
    Ok(Router::new()
        .route("/", get("A service with three stores"))
        .route("/openapi.json", get(async || Json(openapi::document(&[]))))
        .merge(service.protect(stores)))
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    Ok(axum::serve(listener, app().await?).await?)
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::{Request, StatusCode};
    use serde_json::{Value, json};
    use tower::ServiceExt as _;

    use super::*;

    async fn answer(app: &Router, method: &str, path: &str, body: &Value) -> (StatusCode, Value) {
        let body = Body::from(body.to_string());
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", "application/json");
        let answer = app.clone().oneshot(request.body(body).unwrap()).await;
        let (head, body) = answer.unwrap().into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (
            head.status,
            serde_json::from_slice(&body).unwrap_or_default(),
        )
    }

    #[tokio::test]
    async fn each_interface_answers() {
        let app = app().await.unwrap();
        let append = json!({ "events": { "type": "Opened", "data": "{}", "tags": ["shop:1"] } });
        let (status, appended) = answer(&app, "POST", "/dcb/append", &append).await;
        assert_eq!(
            (status, &appended["lastPosition"]),
            (StatusCode::OK, &json!(1))
        );
        let write = json!(["stream.write", "shop-1", { "type": "Opened", "data": {} }]);
        let (status, written) = answer(&app, "POST", "/rpc", &write).await;
        assert_eq!((status, &written["position"]), (StatusCode::OK, &json!(0)));
        let point = json!({ "metric": "opened", "timestamp": 1, "value": 1 });
        let (status, _) = answer(&app, "POST", "/series/write", &point).await;
        assert_eq!(status, StatusCode::OK);
        let query = "/api/v1/query?query=opened&time=0.002";
        let (_, found) = answer(&app, "GET", query, &Value::Null).await;
        assert_eq!(found["data"]["result"][0]["value"][1], "1");
    }

    #[tokio::test]
    async fn errors_have_the_form_of_their_interface() {
        let app = app().await.unwrap();
        let (status, error) = answer(&app, "POST", "/dcb/append", &json!({})).await;
        assert_eq!(
            (status, &error["code"]),
            (StatusCode::BAD_REQUEST, &json!("INVALID_REQUEST"))
        );
        let (_, error) = answer(&app, "POST", "/rpc", &json!(["no.such"])).await;
        assert_eq!(error["error"]["code"], "METHOD_NOT_FOUND");
        let (_, error) = answer(&app, "GET", "/api/v1/query", &Value::Null).await;
        assert_eq!(error["errorType"], "bad_data");
        let (status, error) = answer(&app, "POST", "/dcb/cleanup", &Value::Null).await;
        assert_eq!(
            (status, &error["code"]),
            (StatusCode::FORBIDDEN, &json!("CLEANUP_NOT_ALLOWED"))
        );
    }

    #[tokio::test]
    async fn messages_without_a_caller_are_refused() {
        let namespaces = message_store::AnyNamespaces::open("memory:").await.unwrap();
        let namespaces = OpenNamespaces::open(Arc::new(namespaces), None).await;
        let service = Service::new(&Limits::default(), Arc::new(()));
        let messages = messages::router(Arc::new(namespaces.unwrap()), &service);
        let app = service.protect(messages);
        for (method, path) in [("POST", "/rpc"), ("GET", "/subscribe"), ("POST", "/import")] {
            let (status, error) = answer(&app, method, path, &json!(["sys.health"])).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
            assert_eq!(error["error"]["code"], "AUTH_REQUIRED", "{path}");
        }
    }

    #[tokio::test]
    async fn document_names_only_paths_that_are_served() {
        let app = app().await.unwrap();
        let (_, document) = answer(&app, "GET", "/openapi.json", &Value::Null).await;
        let paths = document["paths"].as_object().unwrap();
        assert!(paths.len() > 30);
        for path in paths.keys() {
            let path = path.replace("{name}", "name");
            // No path has this method, so a path that is served says so.
            let (status, _) = answer(&app, "TRACE", &path, &Value::Null).await;
            assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
        }
    }
}
