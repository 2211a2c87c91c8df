//! Messages as JSON rows, written directly into the response.
//!
//! A long result is read page by page as the client takes it, so memory is limited to
//! [`PLAIN_BYTES`] and one page. If the store fails in the middle, the response is cut off, so no
//! client mistakes it for complete.

use std::io::Write as _;
use std::time::SystemTime;

use axum::body::Body;
use axum::response::Response;
use jiff::Timestamp;
use message_store::{
    AnyStore, Category, CategoryRead, Error, GlobalPosition, MessageStore as _, Position,
    RecordedMessage, StreamName, StreamRead,
};
use serde_json::value::RawValue;

use super::answer::json_answer;
use super::arguments::integer;
use crate::error::ApiError;
use crate::outbox::{Chunks, pieces};
use crate::service::Service;

/// Maximum number of messages in a read, unless it asks for all.
const MAX_BATCH: i64 = 10_000;
/// Number of messages if the caller gives none.
const DEFAULT_BATCH: u64 = 1000;
/// Number of messages in the first page, when their size is still unknown.
const FIRST_PAGE: u64 = 100;
const MAX_PAGE: u64 = 1000;
/// Approximate size of a page.
const PAGE_BYTES: usize = 256 << 10;
/// A result up to this size is sent as a whole, with its length.
const PLAIN_BYTES: usize = 1 << 20;

/// The number of messages to read; `None` means all.
#[derive(Clone, Copy)]
pub(super) struct BatchSize(Option<u64>);

impl BatchSize {
    /// If missing, 1,000; -1 means all.
    pub(super) fn of(value: Option<&RawValue>) -> Result<Self, ApiError> {
        let size = value.map(|value| integer("batchSize", value)).transpose()?;
        match size {
            None => Ok(Self(Some(DEFAULT_BATCH))),
            Some(-1) => Ok(Self(None)),
            Some(size @ 0..=MAX_BATCH) => Ok(Self(Some(size.unsigned_abs()))),
            Some(size) => Err(ApiError::invalid_field(
                "batchSize",
                format!("batchSize must be 0 to {MAX_BATCH}, or -1 for all, got {size}"),
            )),
        }
    }
}

/// The error for a read with several kinds of position; `has_after` tells whether `after` is among them.
pub(super) fn one_position(has_after: bool) -> ApiError {
    let message = "position, globalPosition and after exclude each other";
    let field = match has_after {
        true => "after",
        false => "globalPosition",
    };
    ApiError::invalid_field(field, message)
}

/// A read in progress.
#[derive(Clone)]
pub(super) struct Rows {
    store: AnyStore,
    source: Source,
    /// Number of messages still to read.
    left: u64,
    page: u64,
    /// Whether the array is begun, has a row, and is closed.
    is_begun: bool,
    has_rows: bool,
    is_over: bool,
}

#[derive(Clone)]
enum Source {
    Stream {
        name: StreamName,
        read: StreamRead,
        end: Position,
    },
    Category {
        category: Category,
        read: CategoryRead,
        end: GlobalPosition,
    },
}

impl Rows {
    /// Reads a stream from a position. "All" means up to the current head, so concurrent writes
    /// cannot make the response endless.
    pub(super) async fn of_stream(
        store: AnyStore,
        name: StreamName,
        read: StreamRead,
        size: BatchSize,
    ) -> Result<Self, Error> {
        let end = match size.0 {
            // The number of messages ends the read, not a position.
            Some(_) => Position::new(u64::MAX),
            None => store
                .stream_version(&name)
                .await?
                .map_or(Position::START, Position::next),
        };
        let source = Source::Stream { name, read, end };
        Ok(Self::new(store, source, size))
    }

    /// Reads a category from a position. "All" means up to the current head.
    pub(super) async fn of_category(
        store: AnyStore,
        category: Category,
        read: CategoryRead,
        size: BatchSize,
    ) -> Result<Self, Error> {
        let end = match size.0 {
            Some(_) => GlobalPosition::new(u64::MAX),
            None => store
                .head()
                .await?
                .map_or(GlobalPosition::START, |head| head.position.next()),
        };
        let source = Source::Category {
            category,
            read,
            end,
        };
        Ok(Self::new(store, source, size))
    }

    fn new(store: AnyStore, source: Source, size: BatchSize) -> Self {
        Self {
            store,
            source,
            left: size.0.unwrap_or(u64::MAX),
            page: FIRST_PAGE,
            is_begun: false,
            has_rows: false,
            is_over: false,
        }
    }

    /// The response: a JSON array of the rows.
    pub(super) async fn answer(mut self, service: &Service) -> Result<Response, ApiError> {
        let start = self.clone();
        let mut rows = self.chunk().await?;
        while !self.is_over {
            if rows.len() >= PLAIN_BYTES {
                // Like a subscription, a streamed response lasts as long as the client reads, so it
                // takes a slot of the subscriptions.
                let slot = service.guard.subscribe()?;
                let body = pieces(service.mailbox(), start, self, rows, slot);
                return Ok(json_answer(Body::from_stream(body)));
            }
            rows.append(&mut self.chunk().await?);
        }
        Ok(json_answer(rows))
    }

    /// Appends a page. Returns whether there may be more.
    async fn push_page(&mut self, rows: &mut Vec<u8>) -> Result<bool, Error> {
        let limit = self.page.min(self.left);
        let messages = self.source.read(&self.store, limit).await?;
        let with_stream = matches!(self.source, Source::Category { .. });
        let mut bytes = 0;
        for message in &messages {
            if !self.source.pass(message) {
                return Ok(false);
            }
            if std::mem::replace(&mut self.has_rows, true) {
                rows.push(b',');
            }
            push_row(rows, message, with_stream);
            bytes += message.size_bytes();
        }
        let count = messages.len() as u64;
        self.left -= count;
        // The average size of a message in this page decides the length of the next page.
        let average = bytes / messages.len().max(1) + 1;
        self.page = ((PAGE_BYTES / average) as u64).clamp(1, MAX_PAGE);
        Ok(count == limit && self.left > 0)
    }
}

impl Chunks for Rows {
    type Error = Error;

    /// The next page of the array.
    async fn chunk(&mut self) -> Result<Vec<u8>, Error> {
        let mut rows = Vec::new();
        if self.is_over {
            return Ok(rows);
        }
        if !std::mem::replace(&mut self.is_begun, true) {
            rows.push(b'[');
        }
        self.is_over = !self.push_page(&mut rows).await?;
        if self.is_over {
            rows.push(b']');
        }
        Ok(rows)
    }
}

impl Source {
    async fn read(&self, store: &AnyStore, batch_size: u64) -> Result<Vec<RecordedMessage>, Error> {
        match self {
            Self::Stream { name, read, .. } => {
                let read = read.batch_size(batch_size);
                store.get_stream_messages(name, read).await
            }
            Self::Category { category, read, .. } => {
                let read = read.clone().batch_size(batch_size);
                store.get_category_messages(category, read).await
            }
        }
    }

    /// Moves past a message. Returns `false` if it is beyond the end.
    fn pass(&mut self, message: &RecordedMessage) -> bool {
        match self {
            Self::Stream { read, end, .. } => {
                *read = read.after(message);
                message.position() < *end
            }
            Self::Category { read, end, .. } => {
                *read = read.clone().start(message.bookmark());
                message.global_position() < *end
            }
        }
    }
}

/// Appends `[id, stream?, type, position, globalPosition, data, metadata, time]`.
pub(super) fn push_row(rows: &mut Vec<u8>, message: &RecordedMessage, with_stream: bool) {
    rows.extend_from_slice(b"[\"");
    push_id(rows, message);
    rows.extend_from_slice(b"\",");
    if with_stream {
        push_text(rows, message.stream_name());
        rows.push(b',');
    }
    push_text(rows, message.message_type());
    rows.push(b',');
    push_number(rows, message.position().get());
    rows.push(b',');
    push_number(rows, message.global_position().get());
    rows.push(b',');
    rows.extend_from_slice(message.data_json().as_bytes());
    rows.push(b',');
    rows.extend_from_slice(message.metadata_json().unwrap_or("null").as_bytes());
    // A time outside the calendar can only come from a damaged store. It is shown as the last
    // instant.
    let time = Timestamp::from_microsecond(message.time_us()).unwrap_or(Timestamp::MAX);
    write!(rows, ",\"{time}\"]").expect("writing to memory can't fail");
}

pub(super) fn push_text(buffer: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(buffer, text).expect("writing to memory can't fail");
}

pub(super) fn push_id(buffer: &mut Vec<u8>, message: &RecordedMessage) {
    let mut id = uuid::Uuid::encode_buffer();
    let id = message.id().hyphenated().encode_lower(&mut id);
    buffer.extend_from_slice(id.as_bytes());
}

pub(super) fn push_number(buffer: &mut Vec<u8>, number: u64) {
    buffer.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// A time in UTC, ending in `Z`.
pub(super) fn utc(time: SystemTime) -> String {
    Timestamp::try_from(time)
        .unwrap_or(Timestamp::MAX)
        .to_string()
}

#[cfg(test)]
mod tests {
    use message_store::RecordedParts;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn row_has_unchanged_data_and_time_in_utc() {
        let message = RecordedMessage::new(RecordedParts {
            id: Uuid::from_u128(1),
            stream_name: "a\"-1",
            message_type: "T",
            position: Position::new(2),
            global_position: GlobalPosition::new(3),
            data: r#"{"n": 1.10}"#,
            metadata: None,
            time_us: 1_700_000_000_000_001,
        });
        let mut row = Vec::new();
        push_row(&mut row, &message, true);
        let expected = r#"["00000000-0000-0000-0000-000000000001","a\"-1","T",2,3,{"n": 1.10},null,"2023-11-14T22:13:20.000001Z"]"#;
        assert_eq!(String::from_utf8(row).unwrap(), expected);
    }

    #[test]
    fn batch_size_outside_its_range_is_rejected() {
        let size = |text: &str| {
            let value: Box<RawValue> = serde_json::from_str(text).unwrap();
            BatchSize::of(Some(&value)).map(|size| size.0)
        };
        assert_eq!(size("-1").unwrap(), None);
        assert_eq!(size("10000").unwrap(), Some(10_000));
        assert_eq!(size("0").unwrap(), Some(0));
        for refused in ["-2", "10001", "1.5", "\"7\"", "[]", "1e99"] {
            let refused = size(refused).unwrap_err();
            assert_eq!(refused.details.unwrap()["field"], "batchSize");
        }
    }
}
