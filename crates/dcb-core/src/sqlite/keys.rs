//! The keys of the tag index. XXH3 is the same on every machine and in every version, so a file can
//! be moved.

use xxhash_rust::xxh3::xxh3_64;

/// The bits of a key that its type takes; the tag has the others.
pub(super) const TYPE_BITS: i64 = (1 << 24) - 1;

/// The tag that every event has in the index. No tag of an event is empty.
pub(super) const EVERY_EVENT: &str = "";

/// The first key that a tag can have; the last is [`TYPE_BITS`] further.
pub(super) fn tag_bits(tag: &str) -> i64 {
    xxh3_64(tag.as_bytes()).cast_signed() & !TYPE_BITS
}

/// The keys of an event: one for each of its tags, and one that every event of its type has.
pub(super) fn keys<'e>(
    event_type: &str,
    tags: impl Iterator<Item = &'e str>,
) -> impl Iterator<Item = i64> {
    let type_bits = type_bits(event_type);
    tags.chain([EVERY_EVENT])
        .map(move |tag| tag_bits(tag) | type_bits)
}

/// What an event's type adds to the key of each of its tags.
pub(super) fn type_bits(event_type: &str) -> i64 {
    xxh3_64(event_type.as_bytes()).cast_signed() & TYPE_BITS
}
