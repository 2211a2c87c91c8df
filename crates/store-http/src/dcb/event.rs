//! The JSON form of events.

use std::borrow::Cow;
use std::fmt;

use dcb_core::ndjson::Metadata;
use dcb_core::{Event, EventBuilder, SequencedEvent};
use jiff::Timestamp;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::error::within;
use super::json::write_json;
use crate::error::ApiError;
use crate::input::Object;

/// The metadata entry of an event whose data was given as a JSON value. It tells such data from a
/// text that happens to be JSON, so that each client gets back what it gave. The interface neither
/// shows nor takes it.
const DATA_FORM: &str = "registrar.data";
const JSON: &str = "json";

/// An event to append.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventDto<'a> {
    #[serde(rename = "type")]
    event_type: String,
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(borrow)]
    tags: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
}

/// A string of the request, borrowed unless it contains escapes.
#[derive(Debug, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl EventDto<'_> {
    pub(super) fn tag_count(&self) -> usize {
        self.tags.as_ref().map_or(0, Vec::len)
    }

    /// Builds the event. `path` is the event's path in the request, for errors.
    pub(super) fn into_event(self, path: impl Fn() -> String) -> Result<Event, ApiError> {
        let tags = self.tags.iter().flatten().map(|tag| &tag.0);
        let event = Event::builder(self.event_type).tags(tags);
        let event = with_metadata(event, self.metadata.as_ref(), &path)?;
        let event = with_data(event, self.data, &path)?;
        let event = match &self.id {
            // Clients with an optional id may send an empty string.
            Some(Text(id)) if !id.is_empty() => event.id(event_id(id)),
            _ => event,
        };
        event.build().map_err(|error| within(&path(), error))
    }
}

fn with_metadata(
    event: EventBuilder,
    metadata: Option<&Metadata<'_>>,
    path: impl Fn() -> String,
) -> Result<EventBuilder, ApiError> {
    let mut entries = metadata.into_iter().flat_map(|metadata| metadata.entries());
    entries.try_fold(event, |event, (key, value)| {
        if key == DATA_FORM {
            let problem = format!("contains {DATA_FORM}, which the server sets itself");
            return Err(invalid(&path(), "metadata", &problem));
        }
        Ok(event.metadata(key, value))
    })
}

/// Sets the data: the content of a string, or the JSON text of any other value.
fn with_data(
    event: EventBuilder,
    data: &RawValue,
    path: impl Fn() -> String,
) -> Result<EventBuilder, ApiError> {
    if !data.get().starts_with('"') {
        return Ok(event.data(data.get()).metadata(DATA_FORM, JSON));
    }
    // A string may still contain half of a surrogate pair.
    let text = serde_json::from_str::<String>(data.get());
    let text = text.map_err(|failed| invalid(&path(), "data", &failed.to_string()))?;
    Ok(event.data(text))
}

fn invalid(path: &str, field: &str, problem: &str) -> ApiError {
    let field = format!("{path}.{field}");
    ApiError::invalid_field(&field, format!("{field} {problem}"))
}

/// Maps a client's id to the event's UUID. A UUID stays as it is; any other text always gives the
/// same version 8 UUID. So the store recognizes a repeated append with any kind of id.
fn event_id(text: &str) -> Uuid {
    Uuid::try_parse(text).unwrap_or_else(|_| {
        let hash = Sha256::new_with_prefix("registrar event id\0").chain_update(text);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.finalize()[..16]);
        Uuid::new_v8(bytes)
    })
}

/// One event or an array of events.
#[derive(Debug)]
pub(super) struct OneOrMore<'a>(pub(super) Vec<EventDto<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for OneOrMore<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = OneOrMore<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an event or a list of events")
            }

            fn visit_map<A: MapAccess<'de>>(self, event: A) -> Result<Self::Value, A::Error> {
                let event = EventDto::deserialize(MapAccessDeserializer::new(event))?;
                Ok(OneOrMore(vec![event]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut events = Vec::new();
                while let Some(Object(event)) = list.next_element()? {
                    events.push(event);
                }
                Ok(OneOrMore(events))
            }
        }

        // With an untagged enum, serde would buffer the whole body to try both forms.
        deserializer.deserialize_any(Either)
    }
}

/// The JSON form of a recorded event.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordedDto<'a> {
    #[serde(rename = "type")]
    event_type: &'a str,
    #[serde(serialize_with = "tags")]
    tags: &'a SequencedEvent,
    data: Data<'a>,
    position: u64,
    id: Uuid,
    recorded_at: Timestamp,
    #[serde(serialize_with = "metadata")]
    metadata: &'a SequencedEvent,
}

/// The data in the form in which it was given.
#[derive(Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Json(&'a RawValue),
    Text(Cow<'a, str>),
}

impl<'a> RecordedDto<'a> {
    fn of(event: &'a SequencedEvent) -> Self {
        Self {
            event_type: event.event_type(),
            tags: event,
            data: Data::of(event),
            position: event.position().get(),
            id: event.id(),
            // A time outside the calendar can only come from a damaged store.
            recorded_at: Timestamp::try_from(event.recorded_at()).unwrap_or(Timestamp::MAX),
            metadata: event,
        }
    }
}

impl<'a> Data<'a> {
    fn of(event: &'a SequencedEvent) -> Self {
        let is_value = event.metadata_value(DATA_FORM) == Some(JSON);
        // Other programs may have appended the entry with other data.
        let value = is_value.then(|| serde_json::from_slice(event.data()).ok());
        match value.flatten() {
            Some(value) => Self::Json(value),
            // Other programs may have appended data that is not UTF-8; its invalid bytes become
            // replacement characters.
            None => Self::Text(String::from_utf8_lossy(event.data())),
        }
    }
}

fn tags<S: Serializer>(event: &SequencedEvent, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(event.tags())
}

fn metadata<S: Serializer>(event: &SequencedEvent, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(event.metadata().filter(|(key, _)| *key != DATA_FORM))
}

/// Writes a recorded event as one line of JSON.
pub(super) fn write_event(event: &SequencedEvent, out: &mut Vec<u8>) {
    let start = out.len();
    write_json(&RecordedDto::of(event), out);
    // Strings escape line breaks, so these bytes are white space in data that is a JSON value.
    for byte in &mut out[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_id_depends_only_on_the_text() {
        let uuid = Uuid::from_u128(0x0123_4567_89ab_4def_8123_4567_89ab_cdef);
        assert_eq!(event_id(&uuid.to_string()), uuid);
        assert_eq!(event_id("order-1"), event_id("order-1"));
        assert_ne!(event_id("order-1"), event_id("order-2"));
        // This UUID must never change, because every version of the server must recognize a
        // repeated append.
        let known = "7a2e86b4-dcd5-83d6-bb27-3fb18353d6a4";
        assert_eq!(event_id("order-1").to_string(), known);
    }
}
