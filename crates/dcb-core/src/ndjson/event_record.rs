use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::{Event, SequencedEvent};

/// The reason why an entry is not an event.
pub(super) type EntryError = Box<dyn std::error::Error + Send + Sync>;

/// The JSON form of an event. Unknown fields are refused, because the import would lose them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EventRecord<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) recorded_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Uuid>,
    #[serde(rename = "type", borrow)]
    event_type: Cow<'a, str>,
    #[serde(default, borrow)]
    tags: Vec<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty", borrow)]
    metadata: Metadata<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    data: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
}

/// Metadata, which is an object in JSON. It is a list here, because a map would lose the order.
#[derive(Default)]
struct Metadata<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> EventRecord<'a> {
    pub(super) fn new(event: &'a SequencedEvent) -> Self {
        let data = raw_json(event.data());
        let encoded = || STANDARD.encode(event.data());
        let metadata = event.metadata();
        Self {
            position: Some(event.position().get()),
            // Only times beyond the year 9999 don't fit, and no store records those.
            recorded_at: Timestamp::try_from(event.recorded_at()).ok(),
            id: Some(event.id()),
            event_type: event.event_type().into(),
            tags: event.tags().map(Cow::from).collect(),
            metadata: Metadata(metadata.map(|(k, v)| (k.into(), v.into())).collect()),
            data_base64: data.is_none().then(encoded),
            data,
        }
    }

    pub(super) fn parse(text: &'a str) -> Result<Self, EntryError> {
        Ok(serde_json::from_str(text)?)
    }

    /// The event to append, with the recorded time in the metadata entry `recorded_at_key`.
    pub(super) fn event(&self, recorded_at_key: Option<&str>) -> Result<Event, EntryError> {
        let mut builder = Event::builder(&*self.event_type)
            .tags(&self.tags)
            .data(self.decoded()?);
        for (key, value) in &self.metadata.0 {
            builder = builder.metadata(&**key, &**value);
        }
        if let (Some(key), Some(time)) = (recorded_at_key, self.recorded_at) {
            builder = builder.metadata(key, time.to_string());
        }
        if let Some(id) = self.id {
            builder = builder.id(id);
        }
        Ok(builder.build()?)
    }

    fn decoded(&self) -> Result<Vec<u8>, EntryError> {
        match (self.data, &self.data_base64) {
            (Some(_), Some(_)) => Err("both data and dataBase64 are present".into()),
            (Some(data), None) => Ok(data.get().as_bytes().to_vec()),
            (None, Some(text)) => Ok(STANDARD.decode(text)?),
            (None, None) => Ok(Vec::new()),
        }
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

impl Metadata<'_> {
    fn is_empty(&self) -> bool {
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
