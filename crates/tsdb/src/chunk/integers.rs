//! Integers of a frame, as offsets from the least, either of the integers themselves or of the
//! steps between them.
//!
//! ```text
//! plain:  least (zigzag) · width (u8) · packed (integer - least)
//! delta:  first (zigzag) · least step (zigzag) · width (u8) · packed (step - least step)
//! ```
//!
//! All arithmetic wraps, so that every sequence of 64-bit integers comes back as it was. Where the
//! steps are packed, the first of them is the least step: nothing precedes the first integer.

use super::bits::{pack, packed_len, unpack, width};
use super::reader::{Reader, put_zigzag};
use super::{FRAME, Malformed};

/// How the integers of a frame are packed, and in how many bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    pub(crate) delta: bool,
    least: i64,
    width: u8,
}

impl Packing {
    /// The narrower of the two ways for the first `count` integers, which are one or more.
    pub(crate) fn choose(integers: &[i64; FRAME], count: usize) -> Self {
        let (least, greatest) = range(integers[..count].iter().copied());
        let plain = Self::of(false, least, greatest);
        if count == 1 {
            return plain;
        }
        let delta = Self::delta(integers, count);
        if delta.width < plain.width {
            delta
        } else {
            plain
        }
    }

    /// By the steps between the first `count` integers, which are two or more.
    pub(crate) fn delta(integers: &[i64; FRAME], count: usize) -> Self {
        let steps = integers[..count]
            .array_windows()
            .map(|[a, b]| b.wrapping_sub(*a));
        let (least, greatest) = range(steps);
        Self::of(true, least, greatest)
    }

    fn of(delta: bool, least: i64, greatest: i64) -> Self {
        Self {
            delta,
            least,
            width: width(greatest.wrapping_sub(least).cast_unsigned()),
        }
    }

    pub(crate) fn encode(self, integers: &[i64; FRAME], count: usize, out: &mut Vec<u8>) {
        let mut offsets = [0; FRAME];
        if self.delta {
            put_zigzag(out, integers[0]);
            for (offset, [a, b]) in offsets[1..count].iter_mut().zip(integers.array_windows()) {
                *offset = b.wrapping_sub(*a).wrapping_sub(self.least).cast_unsigned();
            }
        } else {
            for (offset, integer) in offsets[..count].iter_mut().zip(integers) {
                *offset = integer.wrapping_sub(self.least).cast_unsigned();
            }
        }
        put_zigzag(out, self.least);
        out.push(self.width);
        pack(&offsets, count, self.width, out);
    }
}

fn range(integers: impl Iterator<Item = i64>) -> (i64, i64) {
    integers.fold((i64::MAX, i64::MIN), |(least, greatest), integer| {
        (least.min(integer), greatest.max(integer))
    })
}

/// Packed integers, not yet unpacked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    /// Where the packed integers begin; goes on to the end of the block.
    bytes: &'a [u8],
    count: usize,
    first: i64,
    least: i64,
    width: u8,
    delta: bool,
}

impl<'a> Packed<'a> {
    #[inline]
    pub(crate) fn read(
        reader: &mut Reader<'a>,
        count: usize,
        delta: bool,
    ) -> Result<Self, Malformed> {
        let first = if delta { reader.zigzag()? } else { 0 };
        let least = reader.zigzag()?;
        let width = reader.byte()?;
        let bytes = reader.rest;
        reader.take(packed_len(count, width))?;
        Ok(Self {
            bytes,
            count,
            first,
            least,
            width,
            delta,
        })
    }

    #[inline]
    pub(crate) fn decode(&self, integers: &mut [i64; FRAME]) -> Result<(), Malformed> {
        unpack(self.bytes, self.count, self.width, self.least, integers)?;
        if self.delta {
            let mut sum = self.first.wrapping_sub(integers[0]);
            for integer in integers {
                sum = sum.wrapping_add(*integer);
                *integer = sum;
            }
        }
        Ok(())
    }
}
