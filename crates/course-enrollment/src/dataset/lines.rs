use std::io::Write;

use dcb_core::Event;
use serde::Serialize;
use serde_json::value::RawValue;

/// The form of an event in files. The digests are computed from it too.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    event_type: &'a str,
    tags: Vec<&'a str>,
    data: &'a RawValue,
}

/// Writes an event as one line, `{"type":…,"tags":[…],"data":…}`: sorted tags, unchanged data, no
/// id.
///
/// # Errors
/// The error of a failed write to `out`, or [`std::io::ErrorKind::InvalidData`] if the data is not
/// JSON.
pub fn write_json_line(event: &Event, out: &mut impl Write) -> std::io::Result<()> {
    let line = Line {
        event_type: event.event_type(),
        tags: event.tags().collect(),
        data: serde_json::from_slice(event.data())?,
    };
    // One write per line, because `out` may be an unbuffered file.
    let mut text = serde_json::to_vec(&line)?;
    text.push(b'\n');
    out.write_all(&text)
}
