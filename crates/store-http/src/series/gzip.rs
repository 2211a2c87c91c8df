//! Request bodies that may be compressed with gzip.

use std::io::Read as _;

use axum::http::{HeaderMap, StatusCode, header};
use flate2::read::MultiGzDecoder;

use crate::error::ApiError;

/// Bodies whose content is larger are parsed one at a time.
const LARGE: usize = 4 << 20;

/// Whether the content of a body is large. The end of a compressed body tells its length.
pub(super) fn is_large(body: &[u8], compressed: bool) -> bool {
    match body.last_chunk() {
        Some(length) if compressed => u32::from_le_bytes(*length) as usize > LARGE,
        _ => body.len() > LARGE,
    }
}

/// Whether the body is compressed.
pub(super) fn is_gzip(headers: &HeaderMap) -> Result<bool, ApiError> {
    let encoding = headers.get(header::CONTENT_ENCODING);
    let encoding = encoding.map_or(&b"identity"[..], |encoding| encoding.as_bytes());
    match encoding.to_ascii_lowercase().as_slice() {
        b"gzip" | b"x-gzip" => Ok(true),
        b"identity" | b"" => Ok(false),
        _ => Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_ENCODING",
            "Content-Encoding must be gzip or identity",
        )),
    }
}

/// Decompresses up to `max` bytes. Memory grows with the output, not with the length that the body
/// declares.
pub(super) fn decompress(body: &[u8], max: usize) -> Result<Vec<u8>, ApiError> {
    let mut decoded = Vec::new();
    MultiGzDecoder::new(body)
        // One byte more than allowed, to tell a body at the limit from a larger one.
        .take(max as u64 + 1)
        .read_to_end(&mut decoded)
        .map_err(|_| ApiError::invalid("the body is malformed gzip"))?;
    if decoded.len() > max {
        return Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "BODY_TOO_LARGE",
            format!("the decompressed body exceeds the limit of {max} bytes"),
        ));
    }
    Ok(decoded)
}
