use std::collections::VecDeque;
use std::io::BufRead;
use std::time::SystemTime;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Deserializer, StreamDeserializer, Value, de::IoRead};
use uuid::Uuid;

use super::lines::metadata;
use super::{Entry, EntryError, Source, fault};
use crate::failure::Failure;

/// JSON that KurrentDB, or EventStoreDB, has exported: events one after another, arrays of events, or pages
/// of its HTTP interface (`embed=body`), which have the newest event first.
///
/// Its own events, with a type that begins with `$`, are left out.
pub(crate) struct KurrentDb<R: BufRead> {
    values: StreamDeserializer<'static, IoRead<R>, Value>,
    page: VecDeque<Value>,
    /// The number of the last event.
    number: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Exported {
    event_type: String,
    #[serde(default)]
    event_id: Option<Value>,
    #[serde(default, alias = "streamName")]
    stream_id: Option<String>,
    #[serde(default)]
    data: Value,
    #[serde(default, alias = "metaData")]
    metadata: Value,
    #[serde(default, alias = "updated", alias = "timestamp")]
    created: Option<Timestamp>,
}

impl<R: BufRead> KurrentDb<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            values: Deserializer::from_reader(input).into_iter(),
            page: VecDeque::new(),
            number: 0,
        }
    }

    /// The next event, of the own ones too.
    fn next_value(&mut self) -> Result<Option<Value>, Failure> {
        while self.page.is_empty() {
            let Some(value) = self.values.next() else {
                return Ok(None);
            };
            let offset = self.values.byte_offset();
            let value =
                value.map_err(|failed| Failure::input(format!("after byte {offset}: {failed}")))?;
            self.page = match value {
                Value::Array(events) => events.into(),
                Value::Object(mut feed) => match feed.remove("entries") {
                    Some(Value::Array(entries)) => entries.into_iter().rev().collect(),
                    _ => VecDeque::from([Value::Object(feed)]),
                },
                other => VecDeque::from([other]),
            };
        }
        self.number += 1;
        Ok(self.page.pop_front())
    }

    fn entry(&self, value: Value) -> Result<Entry, EntryError> {
        let place = format!("event {}", self.number);
        let event: Exported =
            serde_json::from_value(value).map_err(|failed| fault(&place, failed))?;
        let id = event.event_id.as_ref().and_then(Value::as_str);
        let id = id.map(Uuid::parse_str).transpose();
        Ok(Entry {
            position: self.number,
            id: id.map_err(|failed| fault(&place, failed))?,
            stream: event.stream_id,
            event_type: event.event_type,
            tags: Vec::new(),
            metadata: match embedded(event.metadata) {
                Value::Object(entries) => metadata(entries),
                _ => Vec::new(),
            },
            data: match embedded(event.data) {
                Value::Null => Vec::new(),
                data => data.to_string().into_bytes(),
            },
            recorded_at: event.created.map(SystemTime::from),
            place,
        })
    }
}

/// JSON that is a text in JSON, as in pages of the HTTP interface.
fn embedded(value: Value) -> Value {
    match value {
        Value::String(text) if text.is_empty() => Value::Null,
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other,
    }
}

impl<R: BufRead + Send> Source for KurrentDb<R> {
    async fn next(&mut self) -> Result<Option<Result<Entry, EntryError>>, Failure> {
        while let Some(value) = self.next_value()? {
            let event_type = value.get("eventType").and_then(Value::as_str);
            if !event_type.is_some_and(|event_type| event_type.starts_with('$')) {
                return Ok(Some(self.entry(value)));
            }
        }
        Ok(None)
    }

    async fn skip_through(&mut self, position: u64) -> Result<(), Failure> {
        while self.number < position && self.next_value()?.is_some() {}
        Ok(())
    }
}
