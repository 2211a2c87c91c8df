//! JSON parsing and writing.

use std::time::Instant;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde::Deserialize;

use crate::error::ApiError;

/// Parses JSON. If that fails, parses it again in a slower way that finds the path to the error.
pub(super) fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, ApiError> {
    serde_json::from_slice(json).map_err(|failed| {
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
            Err(located) if located.path().iter().next().is_some() => {
                let field = located.path().to_string();
                let message = format!("{field}: {}", located.inner());
                ApiError::invalid_field(&field, message)
            }
            // Without a path, the JSON itself is malformed, or the whole body has another type.
            Ok(_) | Err(_) => {
                ApiError::invalid(format!("the body is not the expected JSON: {failed}"))
            }
        }
    })
}

/// Like [`parse`], for a URL parameter.
pub(super) fn parse_parameter<'a, T>(name: &str, json: &'a str) -> Result<T, ApiError>
where
    T: Deserialize<'a>,
{
    parse(json.as_bytes()).map_err(|error| {
        ApiError::invalid_field(name, format!("the parameter {name}: {}", error.message))
    })
}

/// Writes a JSON string.
pub(super) fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("writing a string to memory can't fail");
}

/// Writes a JSON array of strings.
pub(super) fn write_texts<'t>(texts: impl Iterator<Item = &'t str>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, text) in texts.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_text(text, out);
    }
    out.push(b']');
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
