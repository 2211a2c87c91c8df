//! The JSON form of events.

use std::borrow::Cow;
use std::fmt;
use std::io::Write as _;

use dcb_core::{Event, SequencedEvent};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::error::within;
use super::json::{write_text, write_texts};
use crate::error::ApiError;

/// An event to append.
#[derive(Debug, Deserialize)]
pub(super) struct EventDto<'a> {
    #[serde(rename = "type")]
    event_type: String,
    data: String,
    #[serde(borrow)]
    tags: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
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
        let event = Event::builder(self.event_type).tags(tags).data(self.data);
        let event = match &self.id {
            // Clients with an optional id may send an empty string.
            Some(Text(id)) if !id.is_empty() => event.id(event_id(id)),
            _ => event,
        };
        event.build().map_err(|error| within(&path(), error))
    }
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
                while let Some(event) = list.next_element()? {
                    events.push(event);
                }
                Ok(OneOrMore(events))
            }
        }

        // With an untagged enum, serde would buffer the whole body to try both forms.
        deserializer.deserialize_any(Either)
    }
}

/// Writes a recorded event: `{"type","tags","data","position"}`. Other programs may have appended
/// data that is not UTF-8; its invalid bytes become replacement characters.
pub(super) fn write_event(event: &SequencedEvent, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":");
    write_text(event.event_type(), out);
    out.extend_from_slice(b",\"tags\":");
    write_texts(event.tags(), out);
    out.extend_from_slice(b",\"data\":");
    write_text(&String::from_utf8_lossy(event.data()), out);
    write!(out, ",\"position\":{}}}", event.position()).expect("writing to memory can't fail");
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
