//! The keys of tags as `dcb.tag_key` makes them, so that a batch brings its keys along and the
//! server hashes nothing while the log is locked.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Bits of a key that are the type's; the others are the tag's.
const TYPE_BITS: i64 = (1 << 24) - 1;

/// The key of a tag on events of one type, as it stands in `dcb.event_tag`; without a type, the
/// first key that the tag can have.
///
/// For those who query the tables with SQL of their own or load a log in bulk. Keys are hashes: two
/// tags may share one, so whoever finds a position by a key compares the event's own tags.
pub fn of(tag: &str, event_type: Option<&str>) -> i64 {
    of_tag(tag) | event_type.map_or(0, of_type)
}

/// The first key that the tag of this key can have.
pub(super) fn of_any_type(key: i64) -> i64 {
    key & !TYPE_BITS
}

/// The type's part of a key.
pub(super) fn of_type(event_type: &str) -> i64 {
    hash(event_type.as_bytes()) & TYPE_BITS
}

/// The tag's part of a key.
pub(super) fn of_tag(tag: &str) -> i64 {
    hash(tag.as_bytes()) & !TYPE_BITS
}

/// PostgreSQL's `hashtextextended` with seed 0 on a little-endian server: Bob Jenkins' lookup3,
/// which takes 12 bytes a round as three words.
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
    // The lowest byte of the last word is the length's.
    c = c.wrapping_add(part(8, 11) << 8);
    let [b, c] = finish(a, b, c);
    ((u64::from(b) << 32) | u64::from(c)).cast_signed()
}

/// Up to four bytes, the first the lowest.
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
    let less = |own: u32, other: u32, turns| (own ^ other).wrapping_sub(other.rotate_left(turns));
    c = less(c, b, 14);
    a = less(a, c, 11);
    b = less(b, a, 25);
    c = less(c, b, 16);
    a = less(a, c, 4);
    b = less(b, a, 14);
    c = less(c, b, 24);
    [b, c]
}

/// A map by key.
pub(super) type Keyed<V> = HashMap<i64, V, BuildHasherDefault<Spread>>;

/// Keys are hashes already, but those of one type share their low bits.
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
