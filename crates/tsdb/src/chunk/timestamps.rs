//! The timestamps of a frame.
//!
//! ```text
//! continued:  nothing: the frame continues the step of the previous frame
//! fixed:      first - first of the block (zigzag) · step (varint)
//! delta:      first - first of the block (zigzag) · last - first (varint) · integers (delta)
//! ```
//!
//! A frame can continue a frame that is fixed or continued, never one with deltas.

use super::integers::{Packed, Packing};
use super::reader::{Reader, put_varint, put_zigzag};
use super::{FRAME, Malformed};

/// The step of the previous frame, if it is fixed, and the timestamp that would continue it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rhythm {
    pub(crate) next: i64,
    pub(crate) step: Option<u64>,
}

/// The codec of a frame's timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimestampCodec {
    Continued,
    Fixed,
    Delta,
}

/// Timestamps whose header has been read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EncodedTimestamps<'a> {
    pub(crate) first: i64,
    pub(crate) last: i64,
    steps: Steps<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Steps<'a> {
    Fixed(u64),
    Packed(Packed<'a>),
}

/// Appends the first `count` of `timestamps`; at least one, in ascending order.
pub(crate) fn encode(
    timestamps: &[i64; FRAME],
    count: usize,
    origin: i64,
    rhythm: &mut Rhythm,
    out: &mut Vec<u8>,
) -> TimestampCodec {
    let (first, last) = (timestamps[0], timestamps[count - 1]);
    let Some(step) = fixed_step(&timestamps[..count], rhythm.step) else {
        *rhythm = Rhythm::default();
        put_zigzag(out, first.wrapping_sub(origin));
        put_varint(out, last.wrapping_sub(first).cast_unsigned());
        let packing = Packing::delta(timestamps, count);
        packing.encode(timestamps, count, out);
        return TimestampCodec::Delta;
    };
    let continued = rhythm.step == Some(step) && rhythm.next == first;
    *rhythm = Rhythm {
        next: last.wrapping_add_unsigned(step),
        step: Some(step),
    };
    if continued {
        return TimestampCodec::Continued;
    }
    put_zigzag(out, first.wrapping_sub(origin));
    put_varint(out, step);
    TimestampCodec::Fixed
}

/// Returns the step between the timestamps if it is constant. A single timestamp fits any step, so
/// it uses `current`.
fn fixed_step(timestamps: &[i64], current: Option<u64>) -> Option<u64> {
    let [first, second, ..] = timestamps else {
        return Some(current.unwrap_or(0));
    };
    let step = second.wrapping_sub(*first);
    // Fold over all pairs, because this vectorizes, unlike a search that stops early.
    let uneven = timestamps
        .array_windows()
        .fold(0, |uneven, [a, b]| uneven | (b.wrapping_sub(*a) ^ step));
    (uneven == 0).then_some(step.cast_unsigned())
}

impl<'a> EncodedTimestamps<'a> {
    #[inline]
    pub(crate) fn read(
        codec: TimestampCodec,
        reader: &mut Reader<'a>,
        count: usize,
        origin: i64,
        rhythm: &mut Rhythm,
    ) -> Result<Self, Malformed> {
        if codec == TimestampCodec::Delta {
            *rhythm = Rhythm::default();
            let first = origin.wrapping_add(reader.zigzag()?);
            let last = first.wrapping_add_unsigned(reader.varint()?);
            let steps = Steps::Packed(Packed::read(reader, count, true)?);
            return Ok(Self { first, last, steps });
        }
        let (first, step) = if codec == TimestampCodec::Continued {
            (rhythm.next, rhythm.step.ok_or(Malformed)?)
        } else {
            (origin.wrapping_add(reader.zigzag()?), reader.varint()?)
        };
        let last = first.wrapping_add_unsigned(step.wrapping_mul(count as u64 - 1));
        *rhythm = Rhythm {
            next: last.wrapping_add_unsigned(step),
            step: Some(step),
        };
        let steps = Steps::Fixed(step);
        Ok(Self { first, last, steps })
    }

    #[inline]
    pub(crate) fn decode(&self, timestamps: &mut [i64; FRAME]) -> Result<(), Malformed> {
        match self.steps {
            Steps::Packed(packed) => packed.decode(timestamps),
            Steps::Fixed(step) => {
                // Compute eight at a time, with additions: most vector units can't multiply 64-bit
                // integers.
                let mut next: [i64; 8] = std::array::from_fn(|index| {
                    self.first
                        .wrapping_add_unsigned(step.wrapping_mul(index as u64))
                });
                for eight in timestamps.as_chunks_mut().0 {
                    *eight = next;
                    for timestamp in &mut next {
                        *timestamp = timestamp.wrapping_add_unsigned(step.wrapping_mul(8));
                    }
                }
                Ok(())
            }
        }
    }
}
