//! Data, as events and commands have it in JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use store_fault::shared;

use crate::Error;

/// The reason why an entry can't be imported.
pub(super) type EntryError = Box<dyn std::error::Error + Send + Sync>;

/// The error of a line.
pub(super) fn invalid(line: u64, source: EntryError) -> Error {
    Error::Import {
        entry: format!("line {line}"),
        source: shared(source),
    }
}

/// The data as raw JSON, or in Base64 if parsing the line would not return the same bytes.
pub(super) fn encoded(data: &[u8]) -> (Option<&RawValue>, Option<String>) {
    match raw_json(data) {
        Some(raw) => (Some(raw), None),
        None => (None, Some(STANDARD.encode(data))),
    }
}

pub(super) fn decoded(
    data: Option<&RawValue>,
    data_base64: Option<&str>,
) -> Result<Vec<u8>, EntryError> {
    match (data, data_base64) {
        (Some(_), Some(_)) => Err("both data and dataBase64 are present".into()),
        (Some(data), None) => Ok(data.get().as_bytes().to_vec()),
        (None, Some(text)) => Ok(STANDARD.decode(text)?),
        (None, None) => Ok(Vec::new()),
    }
}

/// The data as raw JSON; `None` if parsing the line would not return the same bytes.
fn raw_json(data: &[u8]) -> Option<&RawValue> {
    let raw: &RawValue = serde_json::from_slice(data).ok()?;
    // A shorter raw value means that serde skipped surrounding whitespace.
    let is_whole = raw.get().len() == data.len();
    let is_one_line = !data.contains(&b'\n') && !data.contains(&b'\r');
    // A bare null would be read back as missing data.
    (is_whole && is_one_line && raw.get() != "null").then_some(raw)
}
