//! The content of an event in one allocation.

use std::fmt;
use std::ops::Range;

use memchr::memchr_iter;

use crate::text::invalid;
use crate::{Error, Problem};

/// Type, tags, metadata and data in one buffer:
///
/// ```text
/// type | NUL tag NUL tag … | NUL key NUL value NUL key NUL value … | data
///      ^ tags_at           ^ metadata_at                           ^ data_at
/// ```
///
/// Texts never contain NUL, so NUL can separate them. The data may contain any bytes.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Body {
    buffer: Box<[u8]>,
    tags_at: u32,
    metadata_at: u32,
    data_at: u32,
}

impl Body {
    /// Copies the parts, which the caller has checked, into a buffer of exactly their size.
    pub(super) fn pack<'a>(
        event_type: &str,
        tags: impl Iterator<Item = &'a str> + Clone,
        metadata: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        data: &[u8],
    ) -> Result<Self, Error> {
        let tags_at = event_type.len();
        let metadata_at = tags_at + tags.clone().map(|tag| 1 + tag.len()).sum::<usize>();
        let data_at = metadata_at
            + metadata
                .clone()
                .map(|(key, value)| 2 + key.len() + value.len())
                .sum::<usize>();
        let size = data_at + data.len();
        // Offsets are u32 to keep an event small.
        if u32::try_from(size).is_err() {
            let problem = Problem::TooLarge {
                max: u32::MAX.into(),
                actual: size as u64,
            };
            return Err(invalid("event")(problem));
        }
        let mut buffer = Vec::with_capacity(size);
        buffer.extend_from_slice(event_type.as_bytes());
        for text in tags.chain(metadata.flat_map(|(key, value)| [key, value])) {
            buffer.push(0);
            buffer.extend_from_slice(text.as_bytes());
        }
        buffer.extend_from_slice(data);
        Ok(Self {
            buffer: buffer.into_boxed_slice(),
            // The casts don't truncate: no offset exceeds `size`.
            tags_at: tags_at as u32,
            metadata_at: metadata_at as u32,
            data_at: data_at as u32,
        })
    }

    /// The same parts with another metadata entry, which the caller has checked. `None` if they become too
    /// large.
    pub(super) fn with_metadata(&self, key: &str, value: &str) -> Option<Self> {
        let (before, data) = self.buffer.split_at(self.data_at as usize);
        let entry = [b"\0", key.as_bytes(), b"\0", value.as_bytes()].concat();
        let size = self.buffer.len() + entry.len();
        u32::try_from(size).ok()?;
        Some(Self {
            buffer: [before, &entry, data].concat().into_boxed_slice(),
            // No offset exceeds `size`.
            data_at: self.data_at + entry.len() as u32,
            ..*self
        })
    }

    fn text(&self, range: Range<u32>) -> &str {
        std::str::from_utf8(&self.buffer[range.start as usize..range.end as usize])
            .expect("the bytes before the data should be UTF-8")
    }

    /// The texts of a part of the buffer; each follows a NUL.
    fn entries(&self, part: Range<u32>) -> impl Iterator<Item = &str> {
        let text = self.text(part);
        let mut nuls = memchr_iter(0, text.as_bytes());
        let mut nul = nuls.next();
        std::iter::from_fn(move || {
            let begin = nul? + 1;
            nul = nuls.next();
            Some(&text[begin..nul.unwrap_or(text.len())])
        })
    }

    pub(super) fn event_type(&self) -> &str {
        self.text(0..self.tags_at)
    }

    /// Compares bytes, as `has_tag` does, because queries would otherwise validate UTF-8 each time.
    pub(super) fn is_of_type(&self, wanted: &str) -> bool {
        self.buffer[..self.tags_at as usize] == *wanted.as_bytes()
    }

    pub(super) fn has_tag(&self, wanted: &str) -> bool {
        self.buffer[self.tags_at as usize..self.metadata_at as usize]
            .split(|&byte| byte == 0)
            // The part starts with a NUL, so the first piece is empty.
            .skip(1)
            .any(|tag| tag == wanted.as_bytes())
    }

    pub(super) fn tags(&self) -> impl Iterator<Item = &str> {
        self.entries(self.tags_at..self.metadata_at)
    }

    pub(super) fn metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut entries = self.entries(self.metadata_at..self.data_at);
        std::iter::from_fn(move || Some((entries.next()?, entries.next()?)))
    }

    pub(super) fn data(&self) -> &[u8] {
        &self.buffer[self.data_at as usize..]
    }

    /// Whether all parts are equal but for this metadata entry.
    pub(super) fn is_same_but_for(&self, other: &Self, key: &str) -> bool {
        let metadata = self.metadata().filter(|(entry, _)| *entry != key);
        let others = other.metadata().filter(|(entry, _)| *entry != key);
        self.event_type() == other.event_type()
            && self.tags().eq(other.tags())
            && metadata.eq(others)
            && self.data() == other.data()
    }

    /// The size in bytes.
    pub(super) fn len(&self) -> usize {
        self.buffer.len()
    }

    pub(super) fn debug(&self, debug: &mut fmt::DebugStruct<'_, '_>) -> fmt::Result {
        debug
            .field("type", &self.event_type())
            .field("tags", &self.tags().collect::<Vec<_>>())
            .field("metadata", &self.metadata().collect::<Vec<_>>())
            .field("data", &String::from_utf8_lossy(self.data()))
            .finish()
    }
}
