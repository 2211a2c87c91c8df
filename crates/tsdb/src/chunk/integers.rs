//! The integers of a frame, packed as offsets from the least: either the integers themselves, or
//! the steps between them.
//!
//! ```text
//! plain:  least (zigzag) · width (u8) · packed (integer - least)
//! delta:  first (zigzag) · least step (zigzag) · width (u8) · packed (step - least step)
//! ```
//!
//! All arithmetic wraps, so every sequence of 64-bit integers decodes unchanged. The delta form
//! packs `count` steps, although there are only `count - 1`. The first packed step is a dummy with
//! offset zero.

use super::bits::{pack, packed_len, unpack, width};
use super::reader::{Reader, put_zigzag};
use super::{FRAME, Malformed};

/// The parameters with which the integers of a frame are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    pub(crate) delta: bool,
    least: i64,
    width: u8,
}

impl Packing {
    /// Chooses the narrower of the two forms for the first `count` integers; at least one.
    pub(crate) fn choose(integers: &[i64; FRAME], count: usize) -> Self {
        let (least, greatest) = range(integers[..count].iter().copied());
        let plain = Self::for_range(false, least, greatest);
        if count == 1 {
            // There is no step.
            return plain;
        }
        let delta = Self::delta(integers, count);
        if delta.width < plain.width {
            delta
        } else {
            plain
        }
    }

    /// Chooses the delta form for the first `count` integers; at least two.
    pub(crate) fn delta(integers: &[i64; FRAME], count: usize) -> Self {
        let steps = integers[..count]
            .array_windows()
            .map(|[a, b]| b.wrapping_sub(*a));
        let (least, greatest) = range(steps);
        Self::for_range(true, least, greatest)
    }

    fn for_range(delta: bool, least: i64, greatest: i64) -> Self {
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

/// Packed integers whose header has been read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    /// From the first packed integer to the end of the block, because unpacking reads whole words.
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
            // Subtract the dummy step, so that the first sum is the first integer.
            let mut sum = self.first.wrapping_sub(integers[0]);
            for integer in integers {
                sum = sum.wrapping_add(*integer);
                *integer = sum;
            }
        }
        Ok(())
    }
}
