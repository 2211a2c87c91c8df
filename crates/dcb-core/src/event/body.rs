//! What an event says, in one allocation.

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
/// No text holds a NUL, so NUL can begin each entry; the data is not looked into.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Body {
    buffer: Box<[u8]>,
    tags_at: u32,
    metadata_at: u32,
    data_at: u32,
}

impl Body {
    /// Lays out checked parts in a buffer of exactly their size.
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
            tags_at: tags_at as u32,
            metadata_at: metadata_at as u32,
            data_at: data_at as u32,
        })
    }

    fn text(&self, range: Range<u32>) -> &str {
        std::str::from_utf8(&self.buffer[range.start as usize..range.end as usize])
            .expect("everything before the data was written from a str")
    }

    /// The texts of a part: what stands behind each NUL.
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

    /// Compared as bytes, as tags are: nothing is checked to be text again for every query.
    pub(super) fn is_of_type(&self, wanted: &str) -> bool {
        self.buffer[..self.tags_at as usize] == *wanted.as_bytes()
    }

    pub(super) fn has_tag(&self, wanted: &str) -> bool {
        self.buffer[self.tags_at as usize..self.metadata_at as usize]
            .split(|&byte| byte == 0)
            .skip(1)
            .any(|own| own == wanted.as_bytes())
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
