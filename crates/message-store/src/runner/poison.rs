//! The copy of a message that could not be handled.
//!
//! The id of the copy is derived from the message's id, so a copy that is written again after a crash
//! or a lost answer is not stored twice.

use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::{Builder, Uuid};

use super::HandlerError;
use super::failure::with_causes;
use crate::{Error, Message, RecordedMessage, StreamName};

/// The type of a copy whose original type can't be written.
const UNNAMED: &str = "Poison";
/// The longest error in the metadata.
const ERROR_CHARS: usize = 2_000;

/// A message that the handler gave up on.
pub(super) struct Poison<'m> {
    pub(super) message: &'m RecordedMessage,
    pub(super) consumer: &'m str,
    pub(super) stream: &'m StreamName,
    pub(super) tries: u32,
    pub(super) error: &'m HandlerError,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'m> {
    message_id: Uuid,
    message_type: &'m str,
    stream_name: &'m str,
    position: u64,
    global_position: u64,
    consumer: &'m str,
    tries: u32,
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'m RawValue>,
}

/// Whether the message is a copy that a runner wrote, of this consumer or of another. Its id proves it.
pub(super) fn is_copy(message: &RecordedMessage) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Original {
        message_id: Uuid,
    }
    let metadata = message.metadata_json().unwrap_or_default();
    let original: Option<Original> = serde_json::from_str(metadata).ok();
    original.is_some_and(|of| message.id() == copy_id(of.message_id, message.stream_name()))
}

/// The UUID of version 3 with the message's id as its namespace and the stream as its name: each
/// consumer has its own copy.
fn copy_id(message: Uuid, stream: &str) -> Uuid {
    let digest = Md5::new().chain_update(message).chain_update(stream);
    Builder::from_md5_bytes(digest.finalize().into()).into_uuid()
}

impl Poison<'_> {
    /// The copy with type, data and metadata of the message.
    pub(super) fn whole(&self) -> Result<Message, Error> {
        let metadata = self.message.metadata_json();
        let metadata = metadata.and_then(|text| serde_json::from_str(text).ok());
        Message::builder(self.message.message_type())
            .id(self.id())
            .data_json(self.message.data_json())
            .metadata(&self.metadata(metadata))
            .build()
    }

    /// The copy without them, for a message that together with the error exceeds a limit.
    pub(super) fn reference(&self) -> Result<Message, Error> {
        let builder = Message::builder(UNNAMED).id(self.id());
        builder.metadata(&self.metadata(None)).build()
    }

    fn id(&self) -> Uuid {
        copy_id(self.message.id(), self.stream.as_str())
    }

    fn metadata<'m>(&'m self, metadata: Option<&'m RawValue>) -> Metadata<'m> {
        let error = with_causes(&**self.error);
        Metadata {
            message_id: self.message.id(),
            message_type: self.message.message_type(),
            stream_name: self.message.stream_name(),
            position: self.message.position().get(),
            global_position: self.message.global_position().get(),
            consumer: self.consumer,
            tries: self.tries,
            // PostgreSQL can't store a NUL.
            error: error
                .chars()
                .filter(|&character| character != '\0')
                .take(ERROR_CHARS)
                .collect(),
            metadata,
        }
    }
}
