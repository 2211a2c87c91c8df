use std::time::Instant;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::Serialize;

/// Appends a value as JSON.
pub(super) fn write_json(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("writing to memory can't fail");
}

/// A 200 with ready JSON.
pub(super) fn response(json: impl Into<Bytes>) -> Response {
    let json: Bytes = json.into();
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}

/// The microseconds since `start`, at least 1.
pub(super) fn micros_since(start: Instant) -> u128 {
    start.elapsed().as_micros().max(1)
}
