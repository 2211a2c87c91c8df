//! The keys of the tag index.
//!
//! A key combines 40 bits of a tag's hash with 24 bits of a type's hash. The hash is XXH3, which is
//! the same on every machine and in every version, so a file can be moved between machines.
//!
//! Different tags may have the same key, so every search checks the event itself before it reports a
//! match. `tests/it/sqlite/schema/keys.rs` fails without this check.

use xxhash_rust::xxh3::xxh3_64;

/// A mask for the bits of the type. The other bits belong to the tag.
pub(super) const TYPE_BITS: i64 = (1 << 24) - 1;

/// The index has every event under this tag too, for searches by type alone. It differs from every
/// real tag, because a real tag is never empty.
pub(super) const EVERY_EVENT: &str = "";

/// The smallest key of a tag. Its largest key is `tag_bits(tag) | TYPE_BITS`.
pub(super) fn tag_bits(tag: &str) -> i64 {
    xxh3_64(tag.as_bytes()).cast_signed() & !TYPE_BITS
}

/// The keys of an event: one for each tag, and one for [`EVERY_EVENT`].
pub(super) fn keys<'e>(
    event_type: &str,
    tags: impl Iterator<Item = &'e str>,
) -> impl Iterator<Item = i64> {
    let type_bits = type_bits(event_type);
    tags.chain([EVERY_EVENT])
        .map(move |tag| tag_bits(tag) | type_bits)
}

/// The type's part of a key.
pub(super) fn type_bits(event_type: &str) -> i64 {
    xxh3_64(event_type.as_bytes()).cast_signed() & TYPE_BITS
}
