use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::content::{EntryError, decoded, encoded};
use super::metadata::Metadata;
use crate::Command;

/// The JSON form of a command.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CommandRecord<'a> {
    /// The number of lines with its events.
    pub(super) events: usize,
    #[serde(rename = "type", borrow)]
    command_type: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty", borrow)]
    metadata: Metadata<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    data: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
}

impl<'a> CommandRecord<'a> {
    pub(super) fn new(command: &'a Command, events: usize) -> Self {
        let (data, data_base64) = encoded(command.data());
        Self {
            events,
            command_type: command.command_type().into(),
            metadata: Metadata::new(command.metadata()),
            data,
            data_base64,
        }
    }

    pub(super) fn command(&self) -> Result<Command, EntryError> {
        if self.events == 0 {
            return Err("a command has at least one event".into());
        }
        let builder = Command::builder(&*self.command_type)
            .data(decoded(self.data, self.data_base64.as_deref())?);
        let entries = self.metadata.entries();
        let builder = entries.fold(builder, |builder, (key, value)| {
            builder.metadata(key, value)
        });
        Ok(builder.build()?)
    }
}
