use std::io::Write;

use dcb_core::Event;
use serde::Serialize;
use serde_json::value::RawValue;

/// The one form in which events are written to files and digested.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    event_type: &'a str,
    tags: Vec<&'a str>,
    data: &'a RawValue,
}

/// Writes an event as one line, `{"type":…,"tags":[…],"data":…}`: tags sorted, data byte for byte,
/// no id.
///
/// # Errors
/// What `out` reports; [`std::io::ErrorKind::InvalidData`] where the data is not JSON.
pub fn write_json_line(event: &Event, out: &mut impl Write) -> std::io::Result<()> {
    let line = Line {
        event_type: event.event_type(),
        tags: event.tags().collect(),
        data: serde_json::from_slice(event.data())?,
    };
    let mut text = serde_json::to_vec(&line)?;
    text.push(b'\n');
    out.write_all(&text)
}
