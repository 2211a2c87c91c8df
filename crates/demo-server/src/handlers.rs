//! Two minimal handlers that run without a router. A benchmark compares them with full requests to
//! measure the cost of HTTP.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;

use crate::app::App;

/// `GET /health`
pub async fn health(app: &Arc<App>) -> Response {
    crate::health::ok(State(Arc::clone(app))).await
}

/// `GET /series/metrics`
pub async fn series_metrics(app: &Arc<App>, request: Request) -> Response {
    crate::series::metrics(State(Arc::clone(app)), request).await
}
