//! JSON as text. Messages are validated when they are built and stored unparsed. Values are
//! compared only when an id is written again.

mod equality;

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

pub use equality::same_json;

use crate::{Error, Problem};

/// Maximum nesting of arrays and objects. serde_json reads no deeper.
pub(crate) const MAX_DEPTH: usize = 127;

/// Encodes a value.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<String, Problem> {
    serde_json::to_string(value).map_err(|error| Problem::malformed(error.to_string()))
}

/// Decodes a value.
pub(crate) fn decode<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::Json {
        source: Arc::new(error),
    })
}

/// Rejects a text that is not exactly one JSON value, or that is nested too deep.
pub(crate) fn check(text: &str) -> Result<(), Problem> {
    serde_json::from_str::<&RawValue>(text)
        .map_err(|error| Problem::malformed(error.to_string()))?;
    // `RawValue` skips values without a depth limit. Each level takes two characters, so a short
    // text can't exceed the limit.
    if text.len() > 2 * MAX_DEPTH && depth(text) > MAX_DEPTH {
        return Err(Problem::malformed(format!(
            "nested deeper than {MAX_DEPTH} levels"
        )));
    }
    Ok(())
}

/// The nesting depth of a valid JSON text.
fn depth(text: &str) -> usize {
    let (mut depth, mut max) = (0_usize, 0);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                max = max.max(depth);
            }
            b']' | b'}' => depth -= 1,
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    max
}

/// Skips the rest of a string, including its closing quote.
fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}
