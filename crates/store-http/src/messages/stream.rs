//! The methods `stream.*` of `/rpc`.

use axum::response::Response;
use message_store::{
    AnyStore, Bookmark, Error, ExpectedVersion, Message, MessageStore as _, Position, StreamName,
    StreamRead,
};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::answer::json_answer;
use super::arguments::{after, integer, object, position, text};
use super::call::Call;
use super::rows::{self, BatchSize, Rows, push_row};
use crate::error::ApiError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageArgument<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    message_type: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// Keeps `null`: it is valid data, different from a missing member.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct WriteOptions<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    expected_version: Option<&'a RawValue>,
}

/// `["stream.write", stream, {type, data, metadata?, id?}, {id?, expectedVersion?}?]`.
pub(super) async fn write(call: Call<'_>) -> Result<Response, ApiError> {
    let stream = call.arguments.stream(1)?;
    let message = object("message", "", call.arguments.required(2, "message")?)?;
    let options: WriteOptions<'_> = call.arguments.options(3)?;
    let expected = options.expected_version;
    let expected = expected.map(|value| integer("expectedVersion", value));
    let expected = ExpectedVersion::from_number(expected.transpose()?)?;
    let message = message_of(&message, &options)?;
    let store = &call.caller.namespace()?.store;
    let written = store.write_message(&stream, message, expected).await;
    call.service.watch.wrote_messages(written.as_ref().err());
    let written = written?;
    let (position, global_position) = (written.position, written.global_position);
    Ok(json_answer(format!(
        r#"{{"position":{position},"globalPosition":{global_position}}}"#
    )))
}

fn message_of(
    argument: &MessageArgument<'_>,
    options: &WriteOptions<'_>,
) -> Result<Message, ApiError> {
    let missing = |field: &str| ApiError::invalid_field(field, format!("{field} is missing"));
    let message_type = argument.message_type.ok_or_else(|| missing("type"))?;
    let data = argument.data.ok_or_else(|| missing("data"))?;
    let mut message =
        Message::builder(text("type", message_type)?).data_json(data.get().to_owned());
    if let Some(metadata) = argument.metadata {
        message = message.metadata_json(metadata.get().to_owned());
    }
    if let Some(id) = id_of(argument, options)? {
        message = message.id(id);
    }
    Ok(message.build()?)
}

/// The id in the message or in the options. Published clients write it at either place.
fn id_of(
    argument: &MessageArgument<'_>,
    options: &WriteOptions<'_>,
) -> Result<Option<Uuid>, ApiError> {
    let parsed = |id: &RawValue| {
        let id = Uuid::try_parse(&text("id", id)?);
        id.map_err(|_| ApiError::invalid_field("id", "id must be a UUID"))
    };
    match (
        argument.id.map(parsed).transpose()?,
        options.id.map(parsed).transpose()?,
    ) {
        (Some(one), Some(other)) if one != other => {
            let message = "id in the message and id in the options differ";
            Err(ApiError::invalid_field("id", message))
        }
        (one, other) => Ok(one.or(other)),
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct GetOptions<'a> {
    #[serde(borrow)]
    position: Option<&'a RawValue>,
    #[serde(borrow)]
    global_position: Option<&'a RawValue>,
    #[serde(borrow)]
    after: Option<&'a RawValue>,
    #[serde(borrow)]
    batch_size: Option<&'a RawValue>,
}

/// `["stream.get", stream, {position? | globalPosition? | after?, batchSize?}?]`. `after` is the last
/// message that the client has handled, of this stream or another.
pub(super) async fn get(call: Call<'_>) -> Result<Response, ApiError> {
    let stream = call.arguments.stream(1)?;
    let options: GetOptions<'_> = call.arguments.options(2)?;
    let size = BatchSize::of(options.batch_size)?;
    let store = &call.caller.namespace()?.store;
    let read = StreamRead::new();
    let read = match (options.position, options.global_position, options.after) {
        (None, None, None) => read,
        (Some(value), None, None) => read.position(Position::new(position("position", value)?)),
        (None, Some(value), None) => {
            let from = position("globalPosition", value)?;
            read.position(first_at(store, &stream, from).await?)
        }
        (None, None, Some(value)) => read_after(store, &stream, after("after", value)?).await?,
        _ => return Err(rows::one_position(options.after.is_some())),
    };
    let rows = Rows::of_stream(store.clone(), stream, read, size).await?;
    rows.answer(call.service).await
}

/// A read of a stream that goes on after a message with a global position.
pub(super) async fn read_after(
    store: &AnyStore,
    stream: &StreamName,
    handled: Bookmark,
) -> Result<StreamRead, Error> {
    let from = handled.position.next().get();
    let read = StreamRead::new().position(first_at(store, stream, from).await?);
    Ok(read.handled(handled))
}

/// The position of the first message in a stream at or after a global position. Both positions grow
/// together, so a binary search finds the message. Each of its steps reads one message.
async fn first_at(
    store: &AnyStore,
    stream: &StreamName,
    global_position: u64,
) -> Result<Position, Error> {
    let version = store.stream_version(stream).await?;
    let (mut low, mut high) = (0, version.map_or(0, |version| version.get() + 1));
    // `low` is the first candidate; every position before it is too early.
    while low < high {
        let middle = low + (high - low) / 2;
        let read = StreamRead::new()
            .position(Position::new(middle))
            .batch_size(1);
        let found = store.get_stream_messages(stream, read).await?;
        match found.first() {
            // If the message at `middle` has expired, the read returns the next one that is left,
            // which narrows the search just as well.
            Some(found) if found.global_position().get() < global_position => {
                low = found.position().get() + 1;
            }
            _ => high = middle,
        }
    }
    Ok(Position::new(low))
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LastOptions<'a> {
    #[serde(borrow, rename = "type")]
    message_type: Option<&'a RawValue>,
}

/// `["stream.last", stream, {type?}?]`.
pub(super) async fn last(call: Call<'_>) -> Result<Response, ApiError> {
    let stream = call.arguments.stream(1)?;
    let options: LastOptions<'_> = call.arguments.options(2)?;
    let message_type = options.message_type.map(|value| text("type", value));
    let message_type = message_type.transpose()?;
    let store = &call.caller.namespace()?.store;
    let found = store.get_last_stream_message(&stream, message_type.as_deref());
    Ok(json_answer(match found.await? {
        None => b"null".to_vec(),
        Some(message) => {
            let mut row = Vec::new();
            push_row(&mut row, &message, false);
            row
        }
    }))
}

/// `["stream.version", stream]`.
pub(super) async fn version(call: Call<'_>) -> Result<Response, ApiError> {
    let stream = call.arguments.stream(1)?;
    let store = &call.caller.namespace()?.store;
    let version = store.stream_version(&stream).await?;
    Ok(json_answer(
        version.map_or("null".to_owned(), |version| version.to_string()),
    ))
}
