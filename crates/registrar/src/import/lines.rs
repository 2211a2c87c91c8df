use std::io::{BufRead, Read as _};
use std::time::SystemTime;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{Entry, EntryError, Source, fault};
use crate::failure::Failure;

/// Maximum length of a line, so that an input without line feeds does not use up the memory.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// NDJSON: an object a line with `type`, and as far as it has them `data`, `id`, `time`, `stream`, `tags` and
/// `metadata`.
pub(crate) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line<'a> {
    #[serde(rename = "type")]
    event_type: String,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(default)]
    id: Option<Uuid>,
    #[serde(default, alias = "recordedAt")]
    time: Option<Timestamp>,
    #[serde(default)]
    stream: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    metadata: serde_json::Map<String, Value>,
    /// The position in another log. The store assigns its own.
    #[serde(default, rename = "position")]
    _position: Option<u64>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            number: 0,
        }
    }

    /// Reads a line into `self.line`; `false` at the end.
    fn read(&mut self) -> Result<bool, Failure> {
        self.line.clear();
        self.number += 1;
        let mut limited = self.input.by_ref().take(MAX_LINE_BYTES);
        let read = limited.read_until(b'\n', &mut self.line);
        Ok(read
            .map_err(|failed| Failure::from(failed).in_context(format!("line {}", self.number)))?
            > 0)
    }

    fn entry(&self) -> Result<Entry, EntryError> {
        let place = format!("line {}", self.number);
        let line: Line<'_> =
            serde_json::from_slice(&self.line).map_err(|failed| fault(&place, failed))?;
        Ok(Entry {
            position: self.number,
            id: line.id,
            stream: line.stream,
            event_type: line.event_type,
            tags: line.tags,
            metadata: metadata(line.metadata),
            data: line.data.map_or_else(Vec::new, |data| data.get().into()),
            recorded_at: line.time.map(SystemTime::from),
            place,
        })
    }
}

/// Metadata is text. Other values keep their JSON form.
pub(super) fn metadata(entries: serde_json::Map<String, Value>) -> Vec<(String, String)> {
    let texts = entries.into_iter().map(|(key, value)| match value {
        Value::String(text) => (key, text),
        other => (key, other.to_string()),
    });
    texts.collect()
}

impl<R: BufRead + Send> Source for Lines<R> {
    async fn next(&mut self) -> Result<Option<Result<Entry, EntryError>>, Failure> {
        while self.read()? {
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(self.entry()));
            }
        }
        Ok(None)
    }

    async fn skip_through(&mut self, position: u64) -> Result<(), Failure> {
        while self.number < position && self.read()? {}
        Ok(())
    }
}
