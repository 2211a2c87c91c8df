//! Estimates of the memory that small allocations take.

use crate::Labels;

/// What an allocation takes beside the requested bytes: the allocator's header, and rounding.
pub(crate) const ALLOCATION: usize = 16;

/// Returns the bytes of a shared text: the text and two counters.
pub(crate) const fn text_bytes(text: &str) -> usize {
    text.len() + 2 * size_of::<usize>() + ALLOCATION
}

/// Returns the bytes of the text of labels. Clones share them.
pub(crate) fn labels_bytes(labels: &Labels) -> usize {
    text_bytes(labels.borrowed().text())
}

/// Returns the bytes of an entry of a `BTreeMap`, without what its key and value refer to. Nodes
/// are about half full.
pub(crate) const fn tree_entry_bytes<K, V>() -> usize {
    2 * (size_of::<K>() + size_of::<V>())
}
