use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::{Error, Event, SequencedEvent};

/// One event as a line. Fields that it does not know are refused: they would be lost.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Line<'a> {
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

/// Metadata as an object that keeps its order.
#[derive(Default)]
struct Metadata<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Line<'a> {
    pub(super) fn of(event: &'a SequencedEvent) -> Self {
        let data = raw_json(event.data());
        let encoded = || STANDARD.encode(event.data());
        let metadata = event.metadata();
        Self {
            position: Some(event.position().get()),
            // A time that the format can't hold is none that a store recorded.
            recorded_at: Timestamp::try_from(event.recorded_at()).ok(),
            id: Some(event.id()),
            event_type: event.event_type().into(),
            tags: event.tags().map(Cow::from).collect(),
            metadata: Metadata(metadata.map(|(k, v)| (k.into(), v.into())).collect()),
            data_base64: data.is_none().then(encoded),
            data,
        }
    }

    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The event to append, with the time of recording as metadata under `recorded_at_key`.
    pub(super) fn event(&self, recorded_at_key: Option<&str>) -> Result<Event, String> {
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
        builder.build().map_err(|error: Error| error.to_string())
    }

    fn decoded(&self) -> Result<Vec<u8>, String> {
        match (self.data, &self.data_base64) {
            (Some(_), Some(_)) => Err("it has both data and dataBase64".to_owned()),
            (Some(data), None) => Ok(data.get().as_bytes().to_vec()),
            (None, Some(text)) => STANDARD.decode(text).map_err(|error| error.to_string()),
            (None, None) => Ok(Vec::new()),
        }
    }
}

/// The data as it can stand in a line; none where that would not give back the same bytes.
fn raw_json(data: &[u8]) -> Option<&RawValue> {
    let raw: &RawValue = serde_json::from_slice(data).ok()?;
    let whole = raw.get().len() == data.len();
    let one_line = !data.contains(&b'\n') && !data.contains(&b'\r');
    // A lone null would be read as no data.
    (whole && one_line && raw.get() != "null").then_some(raw)
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
                formatter.write_str("an object of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, String>()? {
                    entries.push((key.into(), value.into()));
                }
                Ok(Metadata(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}
