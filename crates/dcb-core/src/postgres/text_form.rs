//! The text forms of tag arrays and metadata that are sent to the server.

use memchr::memchr2;

use crate::Event;

/// Writes texts as an array literal, `{"a:1","b\"c"}`.
pub(super) fn write_array<'a>(texts: impl Iterator<Item = &'a str>, buffer: &mut Vec<u8>) {
    buffer.push(b'{');
    for (index, text) in texts.enumerate() {
        if index > 0 {
            buffer.push(b',');
        }
        // Each text is quoted. Inside quotes only `"` and `\` need an escape, and `NULL` is an
        // ordinary text.
        buffer.push(b'"');
        let mut rest = text.as_bytes();
        while let Some(special) = memchr2(b'"', b'\\', rest) {
            buffer.extend_from_slice(&rest[..special]);
            buffer.extend_from_slice(&[b'\\', rest[special]]);
            rest = &rest[special + 1..];
        }
        buffer.extend_from_slice(rest);
        buffer.push(b'"');
    }
    buffer.push(b'}');
}

/// Writes the metadata of an event as a JSON object, and keeps the order of the entries. The event
/// must have at least one entry.
pub(super) fn write_metadata(event: &Event, buffer: &mut Vec<u8>) {
    for (index, (key, value)) in event.metadata().enumerate() {
        buffer.push(if index == 0 { b'{' } else { b',' });
        write_json_text(key, buffer);
        buffer.push(b':');
        write_json_text(value, buffer);
    }
    buffer.push(b'}');
}

fn write_json_text(text: &str, buffer: &mut Vec<u8>) {
    serde_json::to_writer(buffer, text).expect("serializing a str into a Vec can't fail");
}
