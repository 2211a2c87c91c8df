//! A write as it waits in the queue. It is validated, has ids, and its large texts are compressed;
//! this work happens before the queue so that no other caller waits for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use group_commit::{Claim, deadline_after};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::config::Config;
use super::one_or_many::OneOrMany;
use super::payload;
use crate::stream_name::category_of;
use crate::trace::stamped;
use crate::{Error, ExpectedVersion, Message, StreamName, StreamWrite, Written};

/// A write in the queue.
pub(super) struct Request {
    pub(super) streams: OneOrMany<StreamRequest>,
    pub(super) size_bytes: usize,
    /// The end of the caller's time.
    pub(super) deadline: Instant,
    /// Shared with the caller.
    pub(super) claim: Arc<Claim>,
}

/// What the caller keeps of a request that it has queued.
pub(super) struct Ticket {
    pub(super) ids: OneOrMany<Uuid>,
    pub(super) claim: Arc<Claim>,
}

/// The messages for one stream.
pub(super) struct StreamRequest {
    pub(super) name: StreamName,
    pub(super) expected_version: ExpectedVersion,
    pub(super) messages: OneOrMany<MessageRequest>,
}

/// A message with its id and the column values computed from it.
pub(super) struct MessageRequest {
    pub(super) id: Uuid,
    pub(super) message: Message,
    pub(super) data_frame: Option<Vec<u8>>,
    pub(super) metadata_frame: Option<Vec<u8>>,
    pub(super) correlation: Option<String>,
}

/// The result for a caller: the positions of its messages in order, or an error.
pub(super) type Verdict = Result<OneOrMany<Written>, Error>;

impl Request {
    pub(super) fn from_message(
        config: &Config,
        stream: &StreamName,
        message: Message,
        expected_version: ExpectedVersion,
    ) -> Result<Self, Error> {
        config.limits.check_message(&message)?;
        let messages = OneOrMany::One(MessageRequest::new(message));
        Ok(Self::for_stream(config, stream, messages, expected_version))
    }

    pub(super) fn from_batch(
        config: &Config,
        stream: &StreamName,
        messages: Vec<Message>,
        expected_version: ExpectedVersion,
    ) -> Result<Self, Error> {
        config.limits.check_batch(&messages)?;
        let messages = messages.into_iter().map(MessageRequest::new).collect();
        Ok(Self::for_stream(config, stream, messages, expected_version))
    }

    pub(super) fn from_streams(config: &Config, writes: Vec<StreamWrite>) -> Result<Self, Error> {
        config.limits.check_streams(&writes)?;
        let streams = writes.into_iter().map(|write| StreamRequest {
            name: write.stream,
            expected_version: write.expected_version,
            messages: write
                .messages
                .into_iter()
                .map(MessageRequest::new)
                .collect(),
        });
        Ok(Self::new(config, streams.collect()))
    }

    fn for_stream(
        config: &Config,
        stream: &StreamName,
        messages: OneOrMany<MessageRequest>,
        expected_version: ExpectedVersion,
    ) -> Self {
        Self::new(
            config,
            OneOrMany::One(StreamRequest {
                name: stream.clone(),
                expected_version,
                messages,
            }),
        )
    }

    fn new(config: &Config, streams: OneOrMany<StreamRequest>) -> Self {
        let mut request = Self {
            streams,
            size_bytes: 0,
            deadline: deadline_after(Instant::now(), config.write_timeout),
            claim: Arc::default(),
        };
        request.size_bytes = request
            .messages()
            .map(|(_, message)| message.message.size_bytes())
            .sum();
        request
    }

    /// Moves the request out and leaves an empty one behind.
    pub(super) fn take(&mut self) -> Self {
        Self {
            streams: std::mem::replace(&mut self.streams, OneOrMany::Many(Vec::new())),
            size_bytes: self.size_bytes,
            deadline: self.deadline,
            claim: Arc::clone(&self.claim),
        }
    }

    /// Every message with its stream, in order.
    pub(super) fn messages(&self) -> impl Iterator<Item = (&StreamName, &MessageRequest)> {
        self.streams.as_slice().iter().flat_map(|stream| {
            let messages = stream.messages.as_slice();
            messages.iter().map(|message| (&stream.name, message))
        })
    }

    pub(super) fn ids(&self) -> OneOrMany<Uuid> {
        self.messages().map(|(_, message)| message.id).collect()
    }

    pub(super) fn ticket(&self) -> Ticket {
        Ticket {
            ids: self.ids(),
            claim: Arc::clone(&self.claim),
        }
    }

    /// The number of messages of each stream.
    pub(super) fn counts(&self) -> Vec<usize> {
        let streams = self.streams.as_slice().iter();
        streams
            .map(|stream| stream.messages.as_slice().len())
            .collect()
    }
}

impl MessageRequest {
    fn new(message: Message) -> Self {
        let message = stamped(message);
        Self {
            // Version 7 ids increase with time, so new entries of the index are close together.
            id: message.id().unwrap_or_else(Uuid::now_v7),
            data_frame: payload::compress(message.data_json()),
            metadata_frame: message.metadata_json().and_then(payload::compress),
            correlation: message.metadata_json().and_then(correlation),
            message,
        }
    }
}

/// The category of the metadata's `correlationStreamName`.
pub(super) fn correlation(metadata: &str) -> Option<String> {
    const KEY: &str = "correlationStreamName";
    // Most metadata has no such key. Parse only if the key may be there, perhaps spelled with
    // escapes.
    if !metadata.contains(KEY) && !metadata.contains('\\') {
        return None;
    }
    // If a key is repeated, the map keeps the last value, as SQL does.
    let object: HashMap<String, &RawValue> = serde_json::from_str(metadata).ok()?;
    let stream_name: String = serde_json::from_str(object.get(KEY)?.get()).ok()?;
    Some(category_of(&stream_name).to_owned())
}
