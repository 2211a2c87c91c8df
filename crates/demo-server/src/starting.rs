//! What is served while the stores open. A long log takes a while to read, and a supervisor that hears
//! nothing would restart the server, which then would begin again.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::any;

use store_http::{ApiError, render};

/// The body of the sign of life before the stores are open.
pub(crate) const STARTING: &str = "Registrar is starting.\n";

/// Answers that the process is alive, and 503 on all other paths.
pub(crate) fn router() -> Router {
    Router::new()
        .route("/livez", any(alive))
        .route("/-/healthy", any(alive))
        .fallback(not_yet)
        .layer(middleware::from_fn(render))
        .layer(middleware::from_fn(close))
}

async fn alive() -> &'static str {
    STARTING
}

async fn not_yet() -> ApiError {
    ApiError {
        retry_after_s: Some(1),
        ..ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "STARTING",
            "the server is starting: it opens its stores",
        )
    }
}

/// Ends the connection after the answer, so that the next request reaches the open stores.
async fn close(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}
