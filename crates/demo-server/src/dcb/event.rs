//! Events as clients write them and read them.

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

/// An event that is to be appended.
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

/// A text of the request, in place where nothing in it is escaped.
#[derive(Debug, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl EventDto<'_> {
    pub(super) fn tag_count(&self) -> usize {
        self.tags.as_ref().map_or(0, Vec::len)
    }

    /// The event; `path` is where it stands in the request.
    pub(super) fn into_event(self, path: impl Fn() -> String) -> Result<Event, ApiError> {
        let tags = self.tags.iter().flatten().map(|tag| &tag.0);
        let event = Event::builder(self.event_type).tags(tags).data(self.data);
        let event = match &self.id {
            Some(Text(id)) if !id.is_empty() => event.id(event_id(id)),
            _ => event,
        };
        event.build().map_err(|error| within(&path(), error))
    }
}

/// The event id that a client's text stands for: a UUID is itself, any other text always gives the
/// same UUID of version 8. So an append that is sent again is known again, whatever its ids.
fn event_id(text: &str) -> Uuid {
    Uuid::try_parse(text).unwrap_or_else(|_| {
        let hash = Sha256::new_with_prefix("registrar event id\0").chain_update(text);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.finalize()[..16]);
        Uuid::new_v8(bytes)
    })
}

/// One event, or a list of them.
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

        deserializer.deserialize_any(Either)
    }
}

/// Writes an event of the log: `{"type","tags","data","position"}`. Data that is no text, as others
/// may have put it into the log, is shown as well as it can be.
pub(super) fn write_event(event: &SequencedEvent, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":");
    write_text(event.event_type(), out);
    out.extend_from_slice(b",\"tags\":");
    write_texts(event.tags(), out);
    out.extend_from_slice(b",\"data\":");
    write_text(&String::from_utf8_lossy(event.data()), out);
    write!(out, ",\"position\":{}}}", event.position()).expect("memory takes what is written");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_same_whenever_it_is_given() {
        let uuid = Uuid::from_u128(0x0123_4567_89ab_4def_8123_4567_89ab_cdef);
        assert_eq!(event_id(&uuid.to_string()), uuid);
        assert_eq!(event_id("order-1"), event_id("order-1"));
        assert_ne!(event_id("order-1"), event_id("order-2"));
        // Kept for ever: other versions of the server must know an append again.
        let known = "7a2e86b4-dcd5-83d6-bb27-3fb18353d6a4";
        assert_eq!(event_id("order-1").to_string(), known);
    }
}
