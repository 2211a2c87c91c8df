//! A line and its parts. Reading a line finds the parts; they are unescaped on use.

use std::borrow::Cow;

/// A line with at least one field.
#[derive(Debug)]
pub(super) struct Line<'a> {
    measurement: &'a str,
    tags: &'a str,
    fields: &'a str,
    pub(super) timestamp: Option<i64>,
}

/// Splits a body after its first line. Returns the line, the number of its line breaks, and the
/// rest. A quoted string may contain line breaks. A string that is never closed ends with the line
/// in which it began, so that each part of a body is scanned at most twice.
pub(super) fn split(body: &[u8]) -> (&[u8], usize, &[u8]) {
    let first_break = body
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(body.len());
    let is_comment = body[..first_break].trim_ascii_start().starts_with(b"#");
    // A quote in a comment does not open a string.
    let end = if is_comment {
        first_break
    } else {
        end_of_line(body)
    };
    let (line, rest) = body.split_at(end);
    let breaks = line.iter().filter(|byte| **byte == b'\n').count();
    (line, breaks + 1, rest.strip_prefix(b"\n").unwrap_or(rest))
}

fn end_of_line(body: &[u8]) -> usize {
    let (mut in_fields, mut quoted) = (false, false);
    // The first line break in the open string.
    let mut first_break = None;
    let mut index = 0;
    while let Some(&byte) = body.get(index) {
        match byte {
            b'\n' if quoted => first_break = first_break.or(Some(index)),
            b'\n' => return index,
            // Skips an escaped byte, but not a line break, which the arms above must see.
            b'\\' if body.get(index + 1) != Some(&b'\n') => index += 1,
            b'"' if quoted => (quoted, first_break) = (false, None),
            _ if quoted => {}
            b' ' => in_fields = true,
            b'"' => quoted = in_fields && index > 0 && body[index - 1] == b'=',
            _ => {}
        }
        index += 1;
    }
    // The string never closes: the line ends at the first break inside it.
    first_break.unwrap_or(body.len())
}

impl<'a> Line<'a> {
    /// Reads a line; `None` if it is empty or a comment.
    pub(super) fn read(text: &'a str) -> Result<Option<Self>, &'static str> {
        let text = text.trim_matches([' ', '\t', '\r']);
        if text.is_empty() || text.starts_with('#') {
            return Ok(None);
        }
        let (series, rest) = Section::Series
            .cut(text, b' ')
            .ok_or("the line has no fields")?;
        let (measurement, tags) = Section::Series.cut(series, b',').unwrap_or((series, ""));
        if measurement.is_empty() {
            return Err("the line has no measurement");
        }
        let rest = rest.trim_start();
        let (fields, timestamp) = Section::Fields.cut(rest, b' ').unwrap_or((rest, ""));
        let line = Self {
            measurement,
            tags,
            fields,
            timestamp: read_timestamp(timestamp.trim())?,
        };
        let has_tags = series.len() > measurement.len();
        // Because of this check, `tags` never meets a part that is not a pair.
        if has_tags
            && !Section::Series
                .parts(tags)
                .all(|tag| pair(tag).is_some_and(|(_, value)| !value.is_empty()))
        {
            return Err("a tag must be name=value");
        }
        Ok(Some(line))
    }

    /// The length of measurement and tags as they are written.
    pub(super) fn series_bytes(&self) -> usize {
        self.measurement.len() + self.tags.len()
    }

    pub(super) fn measurement(&self) -> Cow<'a, str> {
        unescaped(self.measurement)
    }

    pub(super) fn tags(&self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
        let pairs = Section::Series.parts(self.tags).filter_map(pair);
        pairs.map(|(name, value)| (unescaped(name), unescaped(value)))
    }

    /// The names of the fields, and their values as they are written.
    pub(super) fn fields(
        &self,
    ) -> impl Iterator<Item = Result<(Cow<'a, str>, &'a str), &'static str>> {
        Section::Fields.parts(self.fields).map(|field| {
            let (name, value) = pair(field).ok_or("a field must be name=value")?;
            Ok((unescaped(name), value))
        })
    }
}

fn read_timestamp(text: &str) -> Result<Option<i64>, &'static str> {
    match text {
        "" => Ok(None),
        _ => text
            .parse()
            .map(Some)
            .map_err(|_| "the timestamp is not a 64-bit integer"),
    }
}

/// A part of a line. A quote has a different meaning in each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// Measurement and tags: a quote is an ordinary character.
    Series,
    /// Fields: a quote after an equals sign begins a string.
    Fields,
}

impl Section {
    /// Splits at the first separator that is neither escaped nor in a string.
    fn cut(self, text: &str, separator: u8) -> Option<(&str, &str)> {
        let bytes = text.as_bytes();
        let mut quoted = false;
        let mut index = 0;
        while let Some(&byte) = bytes.get(index) {
            match byte {
                b'\\' => index += 1,
                b'"' if quoted => quoted = false,
                _ if quoted => {}
                b'"' if self == Self::Fields => quoted = index > 0 && bytes[index - 1] == b'=',
                _ if byte == separator => return Some((&text[..index], &text[index + 1..])),
                _ => {}
            }
            index += 1;
        }
        None
    }

    /// The parts between commas.
    fn parts(self, text: &str) -> impl Iterator<Item = &str> {
        let mut rest = Some(text).filter(|text| !text.is_empty());
        std::iter::from_fn(move || {
            let text = rest?;
            let (part, after) = match self.cut(text, b',') {
                Some((part, after)) => (part, Some(after)),
                None => (text, None),
            };
            rest = after;
            Some(part)
        })
    }
}

/// A name and a value.
fn pair(text: &str) -> Option<(&str, &str)> {
    Section::Series
        .cut(text, b'=')
        .filter(|(name, _)| !name.is_empty())
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match chars.peek() {
            Some(',' | '=' | ' ') if char == '\\' => {}
            _ => out.push(char),
        }
    }
    Cow::Owned(out)
}
