//! The copy of a message that was skipped.

use serde::Serialize;
use serde_json::value::RawValue;

use super::reference::{Reference, copy_id};
use crate::{Error, Message, RecordedMessage, StreamName};

/// The type of a copy whose original type can't be written.
const UNNAMED: &str = "Poison";

/// A message that the handler gave up on.
pub(super) struct Poison<'m> {
    pub(super) message: &'m RecordedMessage,
    pub(super) stream: &'m StreamName,
    pub(super) reference: Reference,
}

#[derive(Serialize)]
struct Metadata<'m> {
    #[serde(flatten)]
    reference: &'m Reference,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'m RawValue>,
}

impl Poison<'_> {
    /// The copy with type, data and metadata of the message.
    pub(super) fn whole(&self) -> Result<Message, Error> {
        let metadata = self.message.metadata_json();
        let metadata = metadata.and_then(|text| serde_json::from_str(text).ok());
        let reference = &self.reference;
        Message::builder(self.message.message_type())
            .id(copy_id(self.message.id(), self.stream.as_str()))
            .data_json(self.message.data_json())
            .metadata(&Metadata {
                reference,
                metadata,
            })
            .build()
    }

    /// The copy without them, for a message that together with the error exceeds a limit.
    pub(super) fn reference(&self) -> Result<Message, Error> {
        Message::builder(UNNAMED)
            .id(copy_id(self.message.id(), self.stream.as_str()))
            .metadata(&self.reference)
            .build()
    }
}
