//! Integers packed in groups. All numbers of a group have the same width in bytes, which is enough
//! for the largest.
//!
//! No branch depends on the size of a single number, so encoding and decoding each take about a
//! nanosecond per number.

use super::varint::{unzigzag, zigzag};

/// Maximum number of integers in a group.
pub(super) const GROUP: usize = 128;

/// The possible widths, in bytes. Zero is for a group of zeros.
const WIDTHS: [usize; 6] = [0, 1, 2, 3, 4, 8];

/// Appends a group. The caller stores its length.
pub(super) fn push(to: &mut Vec<u8>, group: &[i64]) {
    let all = group.iter().fold(0, |all, &number| all | zigzag(number));
    let needed = (u64::BITS - all.leading_zeros()).div_ceil(8) as usize;
    let width = WIDTHS.into_iter().find(|&width| width >= needed);
    let width = width.unwrap_or(8);
    to.push(width as u8);
    match width {
        0 => {}
        1 => to.extend(group.iter().map(|&number| zigzag(number) as u8)),
        2 => push_wide::<2>(to, group),
        3 => push_wide::<3>(to, group),
        4 => push_wide::<4>(to, group),
        _ => push_wide::<8>(to, group),
    }
}

fn push_wide<const WIDTH: usize>(to: &mut Vec<u8>, group: &[i64]) {
    let start = to.len();
    to.resize(start + group.len() * WIDTH, 0);
    let (slots, _) = to[start..].as_chunks_mut::<WIDTH>();
    for (slot, &number) in slots.iter_mut().zip(group) {
        slot.copy_from_slice(&zigzag(number).to_le_bytes()[..WIDTH]);
    }
}

/// Fills `group` from the start of `bytes`; `None` if the bytes are not a group of that length.
pub(super) fn take(bytes: &mut &[u8], group: &mut [i64]) -> Option<()> {
    let (&width, rest) = bytes.split_first()?;
    let width = usize::from(width);
    if !WIDTHS.contains(&width) {
        return None;
    }
    let (packed, rest) = rest.split_at_checked(group.len() * width)?;
    match width {
        0 => group.fill(0),
        1 => take_wide::<1>(packed, group),
        2 => take_wide::<2>(packed, group),
        3 => take_wide::<3>(packed, group),
        4 => take_wide::<4>(packed, group),
        _ => take_wide::<8>(packed, group),
    }
    *bytes = rest;
    Some(())
}

fn take_wide<const WIDTH: usize>(packed: &[u8], group: &mut [i64]) {
    let (slots, _) = packed.as_chunks::<WIDTH>();
    for (number, slot) in group.iter_mut().zip(slots) {
        let mut bytes = [0; 8];
        bytes[..WIDTH].copy_from_slice(slot);
        *number = unzigzag(u64::from_le_bytes(bytes));
    }
}
