//! What the server measures of itself.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;

/// The counters.
#[derive(Debug, Default)]
pub(crate) struct Observed {}

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
}

/// Counts a request and how long it took.
pub(crate) async fn record(State(_app): State<Arc<App>>, request: Request, next: Next) -> Response {
    next.run(request).await
}

/// Writes the counters into the server's own series, for as long as it runs.
pub(crate) async fn keep(_app: Arc<App>) {
    std::future::pending().await
}
