//! The stored form of data and metadata: small texts unchanged, large ones as a zstd frame.

use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::{Error, Fault, Reason};

/// Longer texts are compressed.
const COMPRESS_ABOVE_BYTES: usize = 2048;
/// zstd's fastest regular level. Slower levels make JSON only slightly smaller.
const LEVEL: i32 = 1;
/// Maximum size of an unpacked text. A damaged frame can claim any size; SQLite's own limit is
/// about the same.
const MAX_TEXT_BYTES: u64 = 1 << 30;

/// Compresses a large text, if that makes it smaller.
pub(super) fn compress(text: &str) -> Option<Vec<u8>> {
    if text.len() <= COMPRESS_ABOVE_BYTES {
        return None;
    }
    let frame = zstd::bulk::compress(text.as_bytes(), LEVEL).ok()?;
    (frame.len() < text.len()).then_some(frame)
}

/// The parameter to bind: the frame if there is one, otherwise the text.
pub(super) fn bound<'a>(text: &'a str, frame: Option<&'a [u8]>) -> ToSqlOutput<'a> {
    ToSqlOutput::Borrowed(match frame {
        Some(frame) => ValueRef::Blob(frame),
        None => ValueRef::Text(text.as_bytes()),
    })
}

/// Decodes a stored text; `None` for NULL. A frame is unpacked into `scratch`.
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
        ValueRef::Integer(_) | ValueRef::Real(_) => return Err(damaged("the value is a number")),
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
        .ok_or_else(|| damaged("the frame has no valid content size"))?;
    scratch.clear();
    scratch.reserve(size as usize);
    zstd::bulk::Decompressor::new()
        .and_then(|mut decompressor| decompressor.decompress_to_buffer(frame, scratch))
        .map_err(|error| damaged(&error.to_string()))?;
    Ok(())
}

fn damaged(reason: &str) -> Error {
    Error::Fault(Fault::Refused(Reason::new(format!(
        "a stored text can't be read: {reason}"
    ))))
}
