//! The keys of tags, equal to those of the SQL function `dcb.tag_key`. A batch brings its keys
//! along, so that the server hashes nothing while the log is locked.
//!
//! Invariant: a key is a hash. A position found by a key is only a candidate, and every search
//! compares the event's type and tags before it counts as a match. Tested by `keys.rs`, with tags
//! whose keys collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The bits of a key that hash the event type; the others hash the tag.
const TYPE_BITS: i64 = (1 << 24) - 1;

/// The key of a tag on events of one type, as stored in `dcb.event_tag`. The keys of one tag under
/// all types are a range of consecutive numbers; without a type, the result is the first of them.
///
/// Use it to query the tables with SQL, or to load a log in bulk. Keys are hashes, and two tags may
/// share one: after finding a position by a key, compare the event's type and tags.
pub fn tag_key(tag: &str, event_type: Option<&str>) -> i64 {
    tag_bits(tag) | event_type.map_or(0, type_bits)
}

/// The key of the same tag without an event type: the type bits are 0.
pub(super) fn any_type(key: i64) -> i64 {
    key & !TYPE_BITS
}

/// The type bits of a key.
pub(super) fn type_bits(event_type: &str) -> i64 {
    hash(event_type.as_bytes()) & TYPE_BITS
}

/// The tag bits of a key.
pub(super) fn tag_bits(tag: &str) -> i64 {
    hash(tag.as_bytes()) & !TYPE_BITS
}

/// PostgreSQL's `hashtextextended` with seed 0 on a little-endian server. It is Bob Jenkins'
/// lookup3, which consumes three words of 4 bytes per round.
fn hash(bytes: &[u8]) -> i64 {
    const START: u32 = 0x9e37_79b9;
    const POSTGRES: u32 = 3_923_095;
    let length = bytes.len() as u32;
    let [mut a, mut b, mut c] = [START.wrapping_add(length).wrapping_add(POSTGRES); 3];
    let (rounds, rest) = bytes.as_chunks::<12>();
    for &[a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3] in rounds {
        a = a.wrapping_add(u32::from_le_bytes([a0, a1, a2, a3]));
        b = b.wrapping_add(u32::from_le_bytes([b0, b1, b2, b3]));
        c = c.wrapping_add(u32::from_le_bytes([c0, c1, c2, c3]));
        [a, b, c] = mix(a, b, c);
    }
    let part = |from: usize, to: usize| word(&rest[from.min(rest.len())..to.min(rest.len())]);
    a = a.wrapping_add(part(0, 4));
    b = b.wrapping_add(part(4, 8));
    // lookup3 reserves the lowest byte of the last word for the length.
    c = c.wrapping_add(part(8, 11) << 8);
    let [b, c] = finish(a, b, c);
    ((u64::from(b) << 32) | u64::from(c)).cast_signed()
}

/// Up to four bytes as a little-endian word.
fn word(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, &byte| (word << 8) | u32::from(byte))
}

fn mix(mut a: u32, mut b: u32, mut c: u32) -> [u32; 3] {
    for [first, second, third] in [[4, 6, 8], [16, 19, 4]] {
        a = a.wrapping_sub(c) ^ c.rotate_left(first);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(second);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(third);
        b = b.wrapping_add(a);
    }
    [a, b, c]
}

fn finish(mut a: u32, mut b: u32, mut c: u32) -> [u32; 2] {
    let less = |word: u32, other: u32, bits| (word ^ other).wrapping_sub(other.rotate_left(bits));
    c = less(c, b, 14);
    a = less(a, c, 11);
    b = less(b, a, 25);
    c = less(c, b, 16);
    a = less(a, c, 4);
    b = less(b, a, 14);
    c = less(c, b, 24);
    [b, c]
}

/// A map with keys of tags as its keys.
pub(super) type Keyed<V> = HashMap<i64, V, BuildHasherDefault<Spread>>;

/// A cheap hasher for keys. They are hashes already, but keys of one event type share their low
/// bits, which a `HashMap` uses to choose the bucket.
#[derive(Debug, Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_i64(i64::from(byte));
        }
    }

    fn write_i64(&mut self, key: i64) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0 ^ key.cast_unsigned())
            .wrapping_mul(ODD)
            .rotate_left(26);
    }
}
