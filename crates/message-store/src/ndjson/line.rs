use std::io::Write;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::{Checkpoint, Error, GlobalPosition, Position, RecordedMessage, RecordedParts, json};

/// The JSON object of a message. Unknown fields are refused, because the import would lose them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonMessage<'a> {
    id: Uuid,
    #[serde(borrow)]
    stream: std::borrow::Cow<'a, str>,
    #[serde(rename = "type", borrow)]
    message_type: std::borrow::Cow<'a, str>,
    pos: u64,
    gpos: u64,
    #[serde(borrow)]
    data: &'a RawValue,
    /// Left out if the message has no metadata. `null` is metadata.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        borrow,
        deserialize_with = "present"
    )]
    meta: Option<&'a RawValue>,
    time: Timestamp,
}

/// Keeps `null`, which serde would otherwise read as `None`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Appends a message as a line of an [`export`](super::export), with its line feed. Data and metadata are
/// copied, except that line feeds in their white space become spaces.
///
/// # Errors
/// [`Error::Json`] if the message's data, metadata or time has no JSON form.
pub fn write_message(line: &mut Vec<u8>, message: &RecordedMessage) -> Result<(), Error> {
    // The buffer may already contain the lines of earlier messages.
    let start = line.len();
    let encoded = JsonMessage {
        id: message.id(),
        stream: message.stream_name().into(),
        message_type: message.message_type().into(),
        pos: message.position().get(),
        gpos: message.global_position().get(),
        data: raw(message.data_json())?,
        meta: message.metadata_json().map(raw).transpose()?,
        time: Timestamp::from_microsecond(message.time_us()).map_err(|error| Error::Json {
            source: Arc::new(error),
        })?,
    };
    serde_json::to_writer(&mut *line, &encoded).map_err(std::io::Error::from)?;
    // JSON strings escape line feeds, so these bytes are white space between tokens.
    for byte in &mut line[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    Ok(line.write_all(b"\n")?)
}

fn raw(text: &str) -> Result<&RawValue, Error> {
    serde_json::from_str(text).map_err(|error| Error::Json {
        source: Arc::new(error),
    })
}

/// A line of an export.
pub(super) enum Line {
    Message(RecordedMessage),
    Checkpoint(Checkpoint),
}

/// The line of a checkpoint. Its key comes first.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointLine {
    checkpoint: JsonCheckpoint,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonCheckpoint {
    consumer: String,
    /// The text of a bookmark.
    handled: String,
}

/// Writes a checkpoint as a line, with its line feed.
pub(super) fn write_checkpoint(
    output: &mut impl Write,
    checkpoint: Checkpoint,
) -> Result<(), Error> {
    let checkpoint = JsonCheckpoint {
        consumer: checkpoint.consumer,
        handled: checkpoint.handled.to_string(),
    };
    let line = CheckpointLine { checkpoint };
    serde_json::to_writer(&mut *output, &line).map_err(std::io::Error::from)?;
    Ok(output.write_all(b"\n")?)
}

/// The reason why a line can't be imported.
type LineError = Box<dyn std::error::Error + Send + Sync>;

impl Line {
    /// Parses a line.
    pub(super) fn parse(line: &[u8]) -> Result<Self, LineError> {
        let inside = line.trim_ascii_start().strip_prefix(b"{");
        let inside = inside.unwrap_or_default().trim_ascii_start();
        if !inside.starts_with(b"\"checkpoint\"") {
            return parse_message(line).map(Self::Message);
        }
        let CheckpointLine { checkpoint } = serde_json::from_slice(line)?;
        Ok(Self::Checkpoint(Checkpoint {
            consumer: checkpoint.consumer,
            handled: checkpoint.handled.parse()?,
        }))
    }
}

fn parse_message(line: &[u8]) -> Result<RecordedMessage, LineError> {
    let line: JsonMessage<'_> = serde_json::from_slice(line)?;
    for (field, name) in [("stream", &line.stream), ("type", &line.message_type)] {
        if name.contains('\0') {
            return Err(format!("{field} contains a NUL character").into());
        }
    }
    // serde_json limits the depth of the line, but a raw value skips that check.
    for text in [Some(line.data), line.meta].into_iter().flatten() {
        json::check(text.get())?;
    }
    Ok(RecordedMessage::new(RecordedParts {
        id: line.id,
        stream_name: &line.stream,
        message_type: &line.message_type,
        position: Position::new(line.pos),
        global_position: GlobalPosition::new(line.gpos),
        data: line.data.get(),
        metadata: line.meta.map(RawValue::get),
        time_us: line.time.as_microsecond(),
    }))
}
