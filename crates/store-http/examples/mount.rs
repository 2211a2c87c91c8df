//! The three stores' interfaces in a service of your own.
//!
//! ```text
//! cargo run -p store-http --example mount
//! ```

use std::sync::Arc;

use axum::routing::get;
use axum::{Extension, Json, Router};
use store_http::messages::{Caller, OpenNamespaces};
use store_http::series::Engine;
use store_http::{Limits, Service, dcb, messages, openapi, series};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

async fn app() -> Result<Router, BoxError> {
    let events = dcb_core::AnyStore::open("memory:").await?;
    let namespaces = Arc::new(message_store::AnyNamespaces::open("memory:").await?);
    let namespaces = Arc::new(OpenNamespaces::open(namespaces, None).await?);
    let engine = Arc::new(Engine::new(
        tsdb::Db::new(tsdb::DbOptions::default()),
        series::Options::default(),
    ));
    // All callers share one namespace. A layer that reads tokens would choose one for each.
    let caller = Caller {
        namespace: Some(namespaces.default_namespace().await?),
        is_admin: false,
    };
    let service = Service::new(&Limits::default(), Arc::new(()));
    let stores = Router::new()
        .nest(
            "/dcb",
            dcb::router(events, dcb::Options::default(), &service),
        )
        .merge(messages::router(namespaces, &service).layer(Extension(caller)))
        .merge(series::router(&engine));
    Ok(Router::new()
        .route("/openapi.json", get(async || Json(openapi::document(&[]))))
        .route("/", get("A service with three stores."))
        .merge(service.protect(stores)))
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8081").await?;
    Ok(axum::serve(listener, app().await?).await?)
}
