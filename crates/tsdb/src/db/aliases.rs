//! A cache that maps the encoded labels of a series in a remote-write message to the series.
//!
//! Invariant: an alias is only a hint, like the cell that a handle or a batch remembers. The series
//! may have ended since. Every user checks this under the lock of the series. If the series has
//! ended, the user looks it up by its labels. `tests/it/wire/aliases.rs` fails without this check.

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use foldhash::quality::RandomState;
use hashbrown::HashTable;

use super::Db;
use crate::LabelsRef;
use crate::series_cell::SeriesCell;

/// Maps the encoded labels of a series, as senders repeat them in each message, to the series. A
/// hit saves parsing the labels and looking them up.
///
/// The size is bounded. Equal bytes always mean equal labels.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    /// The bytes of all aliases, concatenated.
    bytes: Vec<u8>,
    /// The label texts of all aliases, concatenated.
    texts: String,
    aliases: Vec<Alias>,
    by_bytes: HashTable<u32>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Alias {
    bytes: Range<usize>,
    text: Range<usize>,
    labels_hash: u64,
    cell: Arc<SeriesCell>,
}

/// An alias to remember: the bytes in the message, their labels, and the series.
#[derive(Debug)]
pub(crate) struct NewAlias<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) labels: LabelsRef<'a>,
    pub(crate) cell: Arc<SeriesCell>,
}

impl Aliases {
    /// Maximum number of aliases.
    const MAX: usize = 1 << 16;
    /// Maximum size of all aliases and their label texts.
    const MAX_BYTES: usize = 8 << 20;

    /// Returns the number of aliases.
    pub(crate) fn len(&self) -> usize {
        self.aliases.len()
    }

    /// If `bytes` begin with the alias at `index`, returns the rest.
    ///
    /// Senders repeat their series in the same order, so the next alias is usually the right one,
    /// and comparing is cheaper than hashing.
    #[inline]
    pub(crate) fn strip<'a>(&self, index: usize, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let alias = self.aliases.get(index)?;
        bytes.strip_prefix(&self.bytes[alias.bytes.clone()])
    }

    /// Returns the index of an alias.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<usize> {
        let equal = |index: &u32| self.bytes[self.aliases[*index as usize].bytes.clone()] == *bytes;
        let index = self.by_bytes.find(self.hasher.hash_one(bytes), equal)?;
        Some(*index as usize)
    }

    /// Returns the labels and the series of the alias at `index`.
    #[inline]
    pub(crate) fn series(&self, index: usize) -> (LabelsRef<'_>, &Arc<SeriesCell>) {
        let alias = &self.aliases[index];
        let text = &self.texts[alias.text.clone()];
        (LabelsRef::with_hash(text, alias.labels_hash), &alias.cell)
    }

    fn insert(&mut self, alias: NewAlias<'_>) {
        let NewAlias {
            bytes,
            labels,
            cell,
        } = alias;
        if let Some(index) = self.find(bytes) {
            // The series ended and began again in another cell.
            self.aliases[index].cell = cell;
            return;
        }
        let length = bytes.len() + labels.text().len();
        let used = self.bytes.len() + self.texts.len();
        if self.aliases.len() == Self::MAX || used + length > Self::MAX_BYTES {
            // Drop all aliases. This is cheaper than an eviction order, and the aliases still in
            // use come back with the next messages.
            *self = Self::default();
            if length > Self::MAX_BYTES {
                return;
            }
        }
        let (start, text_start) = (self.bytes.len(), self.texts.len());
        self.bytes.extend_from_slice(bytes);
        self.texts.push_str(labels.text());
        let index = self.aliases.len() as u32;
        self.aliases.push(Alias {
            bytes: start..self.bytes.len(),
            text: text_start..self.texts.len(),
            labels_hash: labels.hash_code(),
            cell,
        });
        let Self {
            bytes: all,
            aliases,
            by_bytes,
            hasher,
            ..
        } = self;
        let rehash = |index: &u32| hasher.hash_one(&all[aliases[*index as usize].bytes.clone()]);
        by_bytes.insert_unique(hasher.hash_one(bytes), index, rehash);
    }
}

impl Db {
    /// Runs `read` with the aliases, under a shared lock.
    pub(crate) fn with_aliases<T>(&self, read: impl FnOnce(&Aliases) -> T) -> T {
        read(&self.inner.aliases.read())
    }

    /// Remembers aliases.
    pub(crate) fn add_aliases<'a>(&self, new: impl Iterator<Item = NewAlias<'a>>) {
        let mut new = new.peekable();
        // Usually every alias is known already. Then don't take the lock, which would block
        // readers.
        if new.peek().is_some() {
            let mut aliases = self.inner.aliases.write();
            new.for_each(|alias| aliases.insert(alias));
        }
    }
}
