use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The metadata of an event or a command as a JSON object. It keeps the order of the entries, and a key that
/// occurs twice.
///
/// It writes each value as a string. It reads strings, and numbers and booleans as their JSON text. It reads
/// only from JSON that is in memory.
///
/// ```
/// use dcb_core::ndjson::Metadata;
///
/// let read: Metadata<'_> = serde_json::from_str(r#"{"user":"ada","daysAgo":4}"#)?;
/// assert_eq!(read.entries().collect::<Vec<_>>(), [("user", "ada"), ("daysAgo", "4")]);
/// assert_eq!(serde_json::to_string(&read)?, r#"{"user":"ada","daysAgo":"4"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Metadata<'a> {
    /// The metadata with these entries.
    pub fn new(entries: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self(
            entries
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }

    /// Its entries, in order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
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
                formatter.write_str("an object of strings, numbers and booleans")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((key, Value(value))) = map.next_entry::<String, Value<'de>>()? {
                    entries.push((key.into(), value));
                }
                Ok(Metadata(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// The content of a string, or the JSON text of a number or a boolean.
struct Value<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Value<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        match json.as_bytes() {
            // Texts with escapes can't be borrowed from the input.
            [b'"', ..] => {
                let text: Result<String, _> = serde_json::from_str(json);
                text.map(|text| Self(text.into())).map_err(D::Error::custom)
            }
            [b'-' | b'0'..=b'9' | b't' | b'f', ..] => Ok(Self(json.into())),
            _ => Err(D::Error::custom("expected a string, a number or a boolean")),
        }
    }
}
