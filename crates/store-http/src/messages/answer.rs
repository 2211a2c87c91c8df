use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};

/// An answer with status 200 and this JSON text.
pub(super) fn json_answer(text: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text.into()).into_response()
}
