use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use foldhash::quality::RandomState;
use hashbrown::HashTable;

use super::Db;
use crate::labels::LabelsRef;
use crate::series_cell::SeriesCell;

/// Where series are, by the bytes with which a sender has named them before: the labels need not be
/// read again, nor looked up.
///
/// Of bounded size, and only a hint: the series may have ended since, which it tells itself. The same
/// bytes always say the same labels.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    /// Of all aliases, one after the other.
    bytes: Vec<u8>,
    /// The texts of the series' labels likewise.
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

/// A series that was named, and where it was found.
#[derive(Debug)]
pub(crate) struct Named<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) labels: LabelsRef<'a>,
    pub(crate) cell: Arc<SeriesCell>,
}

impl Aliases {
    /// The most aliases.
    const MAX: usize = 1 << 16;
    /// The most bytes of them and of their labels' texts.
    const MAX_BYTES: usize = 8 << 20;

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.aliases.len()
    }

    /// What follows the alias of this place, if `bytes` begin with that: senders name their series
    /// in one order.
    #[inline]
    pub(crate) fn strip<'a>(&self, place: usize, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let alias = self.aliases.get(place)?;
        bytes.strip_prefix(&self.bytes[alias.bytes.clone()])
    }

    /// The place of an alias.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<usize> {
        let is = |place: &u32| self.bytes[self.aliases[*place as usize].bytes.clone()] == *bytes;
        let place = self.by_bytes.find(self.hasher.hash_one(bytes), is)?;
        Some(*place as usize)
    }

    /// The series of the alias at a place.
    #[inline]
    pub(crate) fn series(&self, place: usize) -> (LabelsRef<'_>, &Arc<SeriesCell>) {
        let alias = &self.aliases[place];
        let text = &self.texts[alias.text.clone()];
        (LabelsRef::with_hash(text, alias.labels_hash), &alias.cell)
    }

    fn insert(&mut self, named: Named<'_>) {
        let Named {
            bytes,
            labels,
            cell,
        } = named;
        if let Some(place) = self.find(bytes) {
            self.aliases[place].cell = cell;
            return;
        }
        let length = bytes.len() + labels.text().len();
        let used = self.bytes.len() + self.texts.len();
        if self.aliases.len() == Self::MAX || used + length > Self::MAX_BYTES {
            // Those that are still in use come back.
            *self = Self::default();
            if length > Self::MAX_BYTES {
                return;
            }
        }
        let (start, text_start) = (self.bytes.len(), self.texts.len());
        self.bytes.extend_from_slice(bytes);
        self.texts.push_str(labels.text());
        let place = self.aliases.len() as u32;
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
        let rehash = |place: &u32| hasher.hash_one(&all[aliases[*place as usize].bytes.clone()]);
        by_bytes.insert_unique(hasher.hash_one(bytes), place, rehash);
    }
}

impl Db {
    /// Shows the aliases, under a lock that others share.
    pub(crate) fn with_aliases<T>(&self, show: impl FnOnce(&Aliases) -> T) -> T {
        show(&self.inner.aliases.read())
    }

    /// Remembers how series were named.
    pub(crate) fn learn<'a>(&self, named: impl Iterator<Item = Named<'a>>) {
        let mut named = named.peekable();
        if named.peek().is_some() {
            let mut aliases = self.inner.aliases.write();
            named.for_each(|named| aliases.insert(named));
        }
    }
}
