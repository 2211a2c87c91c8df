//! Bit-packing of unsigned integers: each takes the number of bits that the greatest needs.
//!
//! Eight integers of `width` bits fill `width` bytes. A width above [`WIDEST`] is rounded up to 64.
//! An integer of up to 57 bits lies within the 8 bytes that begin at its first byte, so one
//! unaligned load reads it.

use super::{FRAME, Malformed, SLACK};

/// The greatest packed width below 64.
const WIDEST: u8 = 57;

/// Returns the packed width for integers up to `greatest`.
pub(crate) fn width(greatest: u64) -> u8 {
    match 64 - greatest.leading_zeros() as u8 {
        width if width > WIDEST => 64,
        width => width,
    }
}

/// Returns the number of bytes of `count` packed integers.
pub(crate) fn packed_len(count: usize, width: u8) -> usize {
    count.div_ceil(8) * width as usize
}

/// Appends `count` values, each below 2^width. Fills the last group of eight with the values after
/// `count`.
pub(crate) fn pack(values: &[u64; FRAME], count: usize, width: u8, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let bits = u32::from(width);
    let end = out.len() + packed_len(count, width);
    let (mut word, mut filled) = (0, 0);
    for &value in &values[..count.next_multiple_of(8)] {
        word |= value << filled;
        filled += bits;
        if filled >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= 64;
            // A shift by 64 overflows. Then no bits of the value are left over.
            word = value.checked_shr(bits - filled).unwrap_or(0);
        }
    }
    out.extend_from_slice(&word.to_le_bytes());
    // The last word may reach beyond the last group.
    out.truncate(end);
}

/// Reads `count` integers of `width` bits from the start of `bytes`, and adds `base` to each.
/// `bytes` must continue for [`SLACK`] bytes after them. The content of `values` after `count` is
/// unspecified.
pub(crate) fn unpack(
    bytes: &[u8],
    count: usize,
    width: u8,
    base: i64,
    values: &mut [i64; FRAME],
) -> Result<(), Malformed> {
    let groups = count.div_ceil(8);
    if groups > FRAME / 8 || bytes.len() < packed_len(count, width) + SLACK {
        return Err(Malformed);
    }
    // One instance per width lets the compiler turn the shifts into constants and vectorize.
    macro_rules! by_width {
        ($($width:literal)*) => {
            match width {
                0 => values.fill(base),
                $($width => unpack_groups::<$width>(bytes, groups, base, values),)*
                64 => unpack_words(bytes, groups, base, values),
                _ => return Err(Malformed),
            }
        };
    }
    by_width!(
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33
        34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57
    );
    Ok(())
}

fn unpack_groups<const WIDTH: usize>(
    bytes: &[u8],
    groups: usize,
    base: i64,
    values: &mut [i64; FRAME],
) {
    let mask = u64::MAX >> (64 - WIDTH);
    for (group, values) in values
        .as_chunks_mut::<8>()
        .0
        .iter_mut()
        .take(groups)
        .enumerate()
    {
        let bytes = &bytes[group * WIDTH..][..WIDTH + SLACK];
        for (index, value) in values.iter_mut().enumerate() {
            let bit = index * WIDTH;
            let word = bytes[bit / 8..]
                .first_chunk()
                .map_or(0, |word| u64::from_le_bytes(*word));
            *value = base.wrapping_add_unsigned(word >> (bit % 8) & mask);
        }
    }
}

fn unpack_words(bytes: &[u8], groups: usize, base: i64, values: &mut [i64; FRAME]) {
    let words = bytes.as_chunks::<8>().0.iter().take(groups * 8);
    for (value, word) in values.iter_mut().zip(words) {
        *value = base.wrapping_add_unsigned(u64::from_le_bytes(*word));
    }
}
