//! Data and metadata as they are stored: small ones as text, large ones as a zstd frame.

use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::Error;

/// Texts of more bytes are compressed.
const COMPRESS_ABOVE_BYTES: usize = 2048;
/// The fastest of zstd's ordinary levels: JSON shrinks by most of what the slower ones reach.
const LEVEL: i32 = 1;
/// No stored text is larger: SQLite itself takes no more in one value.
const MAX_TEXT_BYTES: u64 = 1 << 30;

/// The zstd frame of a text, where that is smaller.
pub(super) fn compress(text: &str) -> Option<Vec<u8>> {
    if text.len() <= COMPRESS_ABOVE_BYTES {
        return None;
    }
    let frame = zstd::bulk::compress(text.as_bytes(), LEVEL).ok()?;
    (frame.len() < text.len()).then_some(frame)
}

/// What is bound for a text and its frame.
pub(super) fn bound<'a>(text: &'a str, frame: Option<&'a [u8]>) -> ToSqlOutput<'a> {
    ToSqlOutput::Borrowed(match frame {
        Some(frame) => ValueRef::Blob(frame),
        None => ValueRef::Text(text.as_bytes()),
    })
}

/// A stored text, unpacked into `scratch` where it is a frame; `None` for SQL's NULL.
pub(super) fn text<'a>(
    value: ValueRef<'a>,
    scratch: &'a mut Vec<u8>,
) -> Result<Option<&'a str>, Error> {
    let bytes = match value {
        ValueRef::Null => return Ok(None),
        ValueRef::Text(bytes) => bytes,
        ValueRef::Blob(frame) => {
            decompress(frame, scratch)?;
            scratch
        }
        ValueRef::Integer(_) | ValueRef::Real(_) => return Err(damaged("it is a number")),
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(damaged(&error.to_string())),
    }
}

fn decompress(frame: &[u8], scratch: &mut Vec<u8>) -> Result<(), Error> {
    let size = zstd::zstd_safe::get_frame_content_size(frame)
        .ok()
        .flatten()
        .filter(|size| *size <= MAX_TEXT_BYTES)
        .ok_or_else(|| damaged("its frame tells no size"))?;
    scratch.clear();
    scratch.reserve(size as usize);
    zstd::bulk::Decompressor::new()
        .and_then(|mut decompressor| decompressor.decompress_to_buffer(frame, scratch))
        .map_err(|error| damaged(&error.to_string()))?;
    Ok(())
}

fn damaged(reason: &str) -> Error {
    Error::Database {
        code: None,
        message: format!("a stored text can't be read: {reason}").into(),
    }
}
