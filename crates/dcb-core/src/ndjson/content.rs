//! Metadata and data, as events and commands have them in JSON.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The reason why an entry can't be imported.
pub(super) type EntryError = Box<dyn std::error::Error + Send + Sync>;

/// Metadata, which is an object in JSON. It is a list here, because a map would lose the order.
#[derive(Default)]
pub(super) struct Metadata<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Metadata<'a> {
    pub(super) fn new(entries: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self(
            entries
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
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

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Metadata<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Metadata<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                // Owned strings, because texts with escapes can't be borrowed from the input.
                while let Some((key, value)) = map.next_entry::<String, String>()? {
                    entries.push((key.into(), value.into()));
                }
                Ok(Metadata(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}
