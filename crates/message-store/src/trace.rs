//! The trace in which a message is written: it goes into the metadata, and on to the handler.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use store_meter::trace;
use tracing::Span;

use crate::{Message, RecordedMessage, same_json};

type Object<'a> = BTreeMap<String, &'a RawValue>;

/// The message with the trace of the current span. A message that brings its trace keeps it, and metadata
/// that is no JSON object stays as it is.
#[cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    expect(dead_code, reason = "a database stores it")
)]
pub(crate) fn stamped(message: Message) -> Message {
    let stamped = trace::current()
        .and_then(|trace| with_trace(message.metadata_json(), &trace))
        .map(|metadata| message.with_metadata(&metadata));
    stamped.unwrap_or(message)
}

/// The metadata with a trace. `None` if it has one, or if it is no object. The rest of the text stays as
/// it is.
fn with_trace(metadata: Option<&str>, trace: &str) -> Option<String> {
    let entry = format!("{{\"{}\":\"{trace}\"", trace::TRACEPARENT);
    let Some(metadata) = metadata else {
        return Some(entry + "}");
    };
    let entries: Object<'_> = serde_json::from_str(metadata).ok()?;
    if entries.contains_key(trace::TRACEPARENT) {
        return None;
    }
    let rest = metadata.trim_start().strip_prefix('{')?;
    let comma = if entries.is_empty() { "" } else { "," };
    Some(entry + comma + rest)
}

/// The metadata without its trace. `None` if it has none.
fn without_trace(metadata: Option<&str>) -> Option<String> {
    let mut entries: Object<'_> = serde_json::from_str(metadata?).ok()?;
    entries.remove(trace::TRACEPARENT)?;
    serde_json::to_string(&entries).ok()
}

/// Whether metadata is the same. The trace may be another one, because a repeated write is often of another
/// trace; and no metadata is the same as metadata that has only a trace.
pub(crate) fn same_metadata(stored: Option<&str>, new: Option<&str>) -> bool {
    match (without_trace(stored), without_trace(new), stored, new) {
        (None, None, Some(stored), Some(new)) => same_json(stored, new),
        (None, None, stored, new) => stored == new,
        (bare_stored, bare_new, stored, new) => {
            let stored = bare_stored.as_deref().or(stored).unwrap_or("{}");
            same_json(stored, bare_new.as_deref().or(new).unwrap_or("{}"))
        }
    }
}

/// A span for the work on these messages, in the traces in which they were written. It is
///
/// - a child of the span of the write, if all messages are of one trace;
/// - else the root of a new trace.
///
/// It has links to the spans of the other writes, at most 128. Without messages that have a trace it is
/// disabled. A [`MessageRunner`](crate::MessageRunner) uses such spans itself; a reader of a
/// [`Subscription`](crate::Subscription) calls this.
pub fn span_of(name: &'static str, messages: &[RecordedMessage]) -> Span {
    let traces: Vec<String> = messages.iter().filter_map(trace_of).collect();
    trace::span(name, traces.iter().map(String::as_str))
}

fn trace_of(message: &RecordedMessage) -> Option<String> {
    // Most metadata has no trace, so it is not parsed.
    let metadata = message
        .metadata_json()
        .filter(|text| text.contains(trace::TRACEPARENT))?;
    let entries: Object<'_> = serde_json::from_str(metadata).ok()?;
    serde_json::from_str(entries.get(trace::TRACEPARENT)?.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_added_to_an_object_without_one() {
        let with = |metadata| with_trace(metadata, "t");
        assert_eq!(with(None).as_deref(), Some(r#"{"traceparent":"t"}"#));
        assert_eq!(
            with(Some(" { } ")).as_deref(),
            Some(r#"{"traceparent":"t" } "#)
        );
        let added = with(Some(r#" {"a": 1e2}"#));
        assert_eq!(added.as_deref(), Some(r#"{"traceparent":"t","a": 1e2}"#));
        for unchanged in [r#"{"traceparent":"own"}"#, "null", "[]", "\"{}\""] {
            assert_eq!(with(Some(unchanged)), None, "{unchanged}");
        }
    }

    #[test]
    fn only_the_trace_may_differ() {
        let (own, other) = (r#"{"traceparent":"a"}"#, r#"{"b":1,"traceparent":"c"}"#);
        for (stored, new) in [
            (None, None),
            (Some(own), None),
            (None, Some(own)),
            (Some(own), Some("{}")),
            (Some(other), Some(r#"{"b":1.0}"#)),
            (Some(other), Some(r#"{"traceparent":"d","b":1}"#)),
        ] {
            assert!(same_metadata(stored, new), "{stored:?} {new:?}");
        }
        for (stored, new) in [
            (None, Some("{}")),
            (None, Some("null")),
            (Some(own), Some("null")),
            (Some(other), Some(own)),
            (Some(other), Some(r#"{"b":2,"traceparent":"c"}"#)),
            (Some(r#"{"parent":"a"}"#), Some(r#"{"parent":"b"}"#)),
        ] {
            assert!(!same_metadata(stored, new), "{stored:?} {new:?}");
        }
    }
}
