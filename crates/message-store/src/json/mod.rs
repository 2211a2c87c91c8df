//! JSON as text: checked when a message is made, passed through untouched, compared as values when
//! an id is written again.

mod equality;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

pub use equality::same_json;

use crate::text::malformed;
use crate::{Error, Problem};

/// How deep arrays and objects may be nested: as deep as serde_json reads them.
pub(crate) const MAX_DEPTH: usize = 127;

/// The text of a value.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<String, Problem> {
    serde_json::to_string(value).map_err(|error| malformed(error.to_string()))
}

/// The value of a text.
pub(crate) fn decode<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::Json {
        reason: error.to_string().into(),
    })
}

/// Refuses what is not one JSON value, or is nested too deep.
pub(crate) fn check(text: &str) -> Result<(), Problem> {
    serde_json::from_str::<&RawValue>(text).map_err(|error| malformed(error.to_string()))?;
    // Each level takes two characters.
    if text.len() > 2 * MAX_DEPTH && depth(text) > MAX_DEPTH {
        return Err(malformed(format!("nested deeper than {MAX_DEPTH} levels")));
    }
    Ok(())
}

/// How deep the arrays and objects of a valid text are nested.
fn depth(text: &str) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                now += 1;
                most = most.max(now);
            }
            b']' | b'}' => now -= 1,
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    most
}

/// Reads on to behind the closing quote.
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
