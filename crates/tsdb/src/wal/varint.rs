//! LEB128 varints: seven bits per byte, lowest first, the high bit set in all bytes but the last.

/// Maximum length of a number, in bytes.
pub(super) const MAX_LENGTH: usize = 10;

/// Writes `value` to the start of `to`, which is at least [`MAX_LENGTH`] long. Returns the number
/// of bytes written.
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

/// Takes a number from the start of `bytes`; `None` if it is incomplete or too long.
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    // Most numbers have one byte. The loop is a separate function, so that this one is inlined.
    if first < 0x80 {
        *bytes = rest;
        return Some(u64::from(first));
    }
    take_long(bytes)
}

fn take_long(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().enumerate().take(MAX_LENGTH) {
        let bits = u64::from(byte & 0x7f);
        // The tenth byte holds only the highest of 64 bits.
        if index == MAX_LENGTH - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * index);
        if byte < 0x80 {
            *bytes = &bytes[index + 1..];
            return Some(value);
        }
    }
    None
}

/// Maps numbers of small magnitude to small unsigned numbers: 0, -1, 1, -2, … to 0, 1, 2, 3, ….
#[inline]
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
