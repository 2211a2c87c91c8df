use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};

/// A 200 with this JSON text.
pub(super) fn json_answer(text: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.into()).into_response()
}

/// A 200 with server-sent events.
pub(super) fn event_stream(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, body).into_response()
}
