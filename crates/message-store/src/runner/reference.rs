//! The metadata of a record: the message that was set aside, and why.

use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};
use uuid::{Builder, Uuid};

use super::failure::with_causes;
use super::handle::Failed;
use crate::{GlobalPosition, Position, RecordedMessage};

/// The longest error in the metadata.
const ERROR_CHARS: usize = 2_000;

/// The metadata of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
    pub(super) message_id: Uuid,
    pub(super) message_type: String,
    pub(super) stream_name: String,
    pub(super) position: u64,
    pub(super) global_position: u64,
    pub(super) consumer: String,
    pub(super) tries: u32,
    /// `None` if the message waits behind another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// A message that a consumer did not handle, as [`MessageRunner::set_aside`](crate::MessageRunner::set_aside)
/// returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SetAside {
    /// The stream of the message.
    pub stream_name: String,
    /// The position in the stream.
    pub position: Position,
    /// The global position.
    pub global_position: GlobalPosition,
    /// The id of the message.
    pub message_id: Uuid,
    /// The type of the message.
    pub message_type: String,
    /// Whether the message waits to be replayed; else it is skipped.
    pub is_parked: bool,
    /// The error of the handler. `None` if the message is parked behind an earlier one.
    pub error: Option<String>,
}

impl Reference {
    pub(super) fn new(message: &RecordedMessage, consumer: &str, failed: Option<&Failed>) -> Self {
        let error = failed.map(|failed| {
            let text = with_causes(&*failed.error);
            // PostgreSQL can't store a NUL.
            let characters = text.chars().filter(|&character| character != '\0');
            characters.take(ERROR_CHARS).collect()
        });
        Self {
            message_id: message.id(),
            message_type: message.message_type().to_owned(),
            stream_name: message.stream_name().to_owned(),
            position: message.position().get(),
            global_position: message.global_position().get(),
            consumer: consumer.to_owned(),
            tries: failed.map_or(0, |failed| failed.tries),
            error,
        }
    }

    /// The reference in a record that a runner wrote, of this consumer or of another. Its id proves it.
    pub(super) fn in_record(record: &RecordedMessage) -> Option<Self> {
        let metadata = record.metadata_json().unwrap_or_default();
        let reference: Self = serde_json::from_str(metadata).ok()?;
        let (of, stream) = (reference.message_id, record.stream_name());
        let ids = [
            copy_id(of, stream),
            record_id(of, stream, record.position()),
        ];
        ids.contains(&record.id()).then_some(reference)
    }

    pub(super) fn global_position(&self) -> GlobalPosition {
        GlobalPosition::new(self.global_position)
    }

    pub(super) fn set_aside(self, is_parked: bool) -> SetAside {
        SetAside {
            global_position: self.global_position(),
            stream_name: self.stream_name,
            position: Position::new(self.position),
            message_id: self.message_id,
            message_type: self.message_type,
            is_parked,
            error: self.error,
        }
    }
}

/// The id of the copy of a message in the poison stream. It is derived from the message's id, so a copy that
/// is written again after a crash or a lost answer is not stored twice. It is the UUID of version 3 with the
/// message's id as its namespace and the stream as its name: each consumer has its own copy.
pub(super) fn copy_id(message: Uuid, stream: &str) -> Uuid {
    let digest = Md5::new().chain_update(message).chain_update(stream);
    Builder::from_md5_bytes(digest.finalize().into()).into_uuid()
}

/// The id of a record at this position of the stream of parked messages, which may have several of a message.
pub(super) fn record_id(message: Uuid, stream: &str, position: Position) -> Uuid {
    copy_id(message, &format!("{stream}@{}", position.get()))
}
