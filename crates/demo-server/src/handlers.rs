//! Two minimal handlers that run without a router. A benchmark compares them with full requests to
//! measure the cost of HTTP.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::app::App;

/// `GET /health`
pub async fn health(app: &App) -> Response {
    crate::health::ok(State(app.part())).await
}

/// `GET /series/metrics`
pub async fn series_metrics(app: &App, request: Request) -> Response {
    crate::observe::summary(State(app.part()), request).await
}
