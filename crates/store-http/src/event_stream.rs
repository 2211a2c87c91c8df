use axum::body::Body;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse as _, Response};

/// nginx and proxies like it pass an answer with this header on as it comes, instead of filling a
/// buffer first.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// An answer with status 200 that streams server-sent events. No cache keeps it, no proxy holds it back
/// or changes it.
pub(crate) fn event_stream(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store, no-transform"),
        (BUFFERING, "no"),
    ];
    (headers, body).into_response()
}
