//! The JSON form of stored tags and metadata, which SQL can search.

use memchr::memchr;
use rusqlite::Result;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};

use crate::Event;

/// Writes tags as an array of strings.
pub(super) fn write_tags(event: &Event, buffer: &mut Vec<u8>) {
    buffer.push(b'[');
    for (index, tag) in event.tags().enumerate() {
        if index > 0 {
            buffer.push(b',');
        }
        write_text(tag, buffer);
    }
    buffer.push(b']');
}

/// Writes metadata as an object of strings, in its order. Without metadata it writes nothing and
/// returns false.
pub(super) fn write_metadata(event: &Event, buffer: &mut Vec<u8>) -> bool {
    for (index, (key, value)) in event.metadata().enumerate() {
        buffer.push(if index == 0 { b'{' } else { b',' });
        write_text(key, buffer);
        buffer.push(b':');
        write_text(value, buffer);
    }
    if !buffer.is_empty() {
        buffer.push(b'}');
    }
    !buffer.is_empty()
}

fn write_text(text: &str, buffer: &mut Vec<u8>) {
    // Most texts need no escapes, and copying them is much faster than the general serializer.
    if text
        .bytes()
        .any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\'))
    {
        serde_json::to_writer(buffer, text).expect("writing JSON to memory should not fail");
    } else {
        buffer.push(b'"');
        buffer.extend_from_slice(text.as_bytes());
        buffer.push(b'"');
    }
}

/// UTF-8 bytes to bind as TEXT.
pub(super) struct Text<'a>(pub(super) &'a [u8]);

impl ToSql for Text<'_> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// The tags of a stored event.
pub(super) enum Tags<'a> {
    /// A JSON array without escapes, in which every quotation mark starts or ends a string.
    Plain(&'a str),
    Unescaped(Vec<String>),
}

impl<'a> Tags<'a> {
    /// Returns `None` if the JSON is not an array of strings.
    pub(super) fn parse(json: &'a str) -> Option<Self> {
        if memchr(b'\\', json.as_bytes()).is_some() {
            serde_json::from_str(json).ok().map(Self::Unescaped)
        } else {
            let is_array = json.starts_with('[') && json.ends_with(']');
            is_array.then_some(Self::Plain(json))
        }
    }

    pub(super) fn iter(&self) -> TagIter<'_> {
        let (plain, unescaped) = match self {
            Self::Plain(json) => (*json, &[][..]),
            Self::Unescaped(tags) => ("", tags.as_slice()),
        };
        TagIter {
            plain,
            unescaped: unescaped.iter(),
        }
    }
}

/// Iterates over the tags. It is written by hand because every read of an event runs it twice, and
/// the standard splitters take ten times the instructions.
#[derive(Clone)]
pub(super) struct TagIter<'t> {
    plain: &'t str,
    unescaped: std::slice::Iter<'t, String>,
}

impl<'t> Iterator for TagIter<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let Some((_, opened)) = split_at_quotation_mark(self.plain) else {
            return self.unescaped.next().map(String::as_str);
        };
        let (tag, rest) = split_at_quotation_mark(opened)?;
        self.plain = rest;
        Some(tag)
    }
}

fn split_at_quotation_mark(text: &str) -> Option<(&str, &str)> {
    let mark = memchr(b'"', text.as_bytes())?;
    Some((&text[..mark], &text[mark + 1..]))
}

/// The entries of stored metadata, or `None` if the JSON is not an object of strings.
pub(super) fn read_metadata(json: &str) -> Option<Vec<(String, String)>> {
    // A visitor instead of a map, because a map would lose the order of the entries.
    struct Entries;
    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<(String, String)>;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("an object of strings")
        }

        fn visit_map<A: MapAccess<'de>>(
            self,
            mut map: A,
        ) -> std::result::Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = map.next_entry()? {
                entries.push(entry);
            }
            Ok(entries)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    deserializer.deserialize_map(Entries).ok()
}
