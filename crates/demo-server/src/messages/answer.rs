use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};

/// An answer with status 200 and this JSON text.
pub(super) fn json_answer(text: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.into()).into_response()
}

/// An answer with status 200 that streams server-sent events.
pub(super) fn event_stream(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, body).into_response()
}
