//! Numbers in as few bytes as they need: seven bits a byte, lowest first, the high bit set on all
//! but the last.

/// The most bytes that a number takes.
pub(super) const MAX_LENGTH: usize = 10;

/// Writes `value` to the start of `to` and returns how many bytes it took.
///
/// `to` is at least [`MAX_LENGTH`] long.
#[inline]
pub(super) fn write(to: &mut [u8], mut value: u64) -> usize {
    let mut length = 0;
    while value >= 0x80 {
        to[length] = value as u8 | 0x80;
        value >>= 7;
        length += 1;
    }
    to[length] = value as u8;
    length + 1
}

/// Appends `value`.
pub(super) fn push(to: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; MAX_LENGTH];
    let length = write(&mut bytes, value);
    to.extend_from_slice(&bytes[..length]);
}

/// Takes a number from the start of `bytes`; `None` if there is no whole one.
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        *bytes = rest;
        return Some(u64::from(first));
    }
    take_long(bytes)
}

fn take_long(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().enumerate().take(MAX_LENGTH) {
        let bits = u64::from(byte & 0x7f);
        if place == MAX_LENGTH - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * place);
        if byte < 0x80 {
            *bytes = &bytes[place + 1..];
            return Some(value);
        }
    }
    None
}

/// Small numbers of either sign as small numbers: 0, -1, 1, -2, …
#[inline]
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// What [`zigzag`] made `value` of.
#[inline]
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
