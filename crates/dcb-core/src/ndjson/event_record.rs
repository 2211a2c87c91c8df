use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::command_record::CommandRecord;
use super::content::{EntryError, decoded, encoded};
use super::metadata::Metadata;
use crate::{Event, SequencedEvent};

/// The JSON form of an event. Unknown fields are refused, because the import would lose them.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EventRecord<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recorded_at: Option<Timestamp>,
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
    /// The command of this event and those after it, in the line of the first.
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    pub(super) command: Option<CommandRecord<'a>>,
}

impl<'a> EventRecord<'a> {
    pub(super) fn new(event: &'a SequencedEvent, command: Option<CommandRecord<'a>>) -> Self {
        let (data, data_base64) = encoded(event.data());
        Self {
            position: Some(event.position().get()),
            // Only times beyond the year 9999 don't fit, and no store records those.
            recorded_at: Timestamp::try_from(event.recorded_at()).ok(),
            id: Some(event.id()),
            event_type: event.event_type().into(),
            tags: event.tags().map(Cow::from).collect(),
            metadata: Metadata::new(event.metadata()),
            data,
            data_base64,
            command,
        }
    }

    /// The event to append.
    pub(super) fn event(&self) -> Result<Event, EntryError> {
        let mut builder = Event::builder(&*self.event_type)
            .tags(&self.tags)
            .data(decoded(self.data, self.data_base64.as_deref())?);
        for (key, value) in self.metadata.entries() {
            builder = builder.metadata(key, value);
        }
        if let Some(time) = self.recorded_at {
            builder = builder.recorded_at(time.into());
        }
        if let Some(id) = self.id {
            builder = builder.id(id);
        }
        Ok(builder.build()?)
    }
}
