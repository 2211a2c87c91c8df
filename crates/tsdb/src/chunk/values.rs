//! The values of a frame, bit for bit.
//!
//! ```text
//! constant:  the value (8 B)
//! decimal:   exponent (u8) · [number of exceptions (u8)] · integers
//!            · for each exception: index (u8) · value (8 B)
//! bits:      shift (u8) · integers
//! ```
//!
//! Values that are not short decimals are stored by their bits as integers. Trailing zero bits that
//! all values share are shifted out. The bits are mapped so that the integers sort like the
//! doubles, and values close together become integers close together. Their offsets from the least
//! integer do not repeat the upper bits that all share. Random mantissas take their own size and no
//! more.

use super::decimal::{Exponent, search};
use super::integers::{Packed, Packing};
use super::reader::Reader;
use super::{FRAME, Malformed};

/// The codec of a frame's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueCodec {
    Constant,
    Decimal { delta: bool, exceptions: bool },
    Bits { delta: bool },
}

/// The last exponent of a series, so that most frames need no search.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExponentCache {
    current: Option<Exponent>,
    /// How many of the next frames skip the search, because earlier searches found nothing.
    pause: u8,
    next_pause: u8,
}

/// Maximum pause, in frames.
const MAX_PAUSE: u8 = 64;

/// A frame may have at most one exception per this number of values. With more, the encoder
/// searches for another exponent, or uses another codec.
const EXCEPTION_SHARE: usize = 16;

impl ExponentCache {
    fn exponent(&mut self, values: &[f64], digits: &mut [i64; FRAME]) -> Option<(Exponent, usize)> {
        let tolerable = |wrong: &usize| wrong * EXCEPTION_SHARE <= values.len();
        if let Some(found) = self
            .current
            .and_then(|current| attempt(current, values, digits))
            && tolerable(&found.1)
        {
            return Some(found);
        }
        if self.pause > 0 {
            // Store the bits of the values, without a search.
            self.pause -= 1;
            return None;
        }
        let found = search(values).and_then(|exponent| attempt(exponent, values, digits));
        let found = found.filter(|(_, wrong)| tolerable(wrong));
        if let Some((exponent, _)) = found {
            self.current = Some(exponent);
            self.next_pause = 0;
        } else {
            // A search is expensive, and a series of random doubles would fail it in every frame.
            // So each failure doubles the pause.
            self.next_pause = (self.next_pause * 2 + 1).min(MAX_PAUSE);
            self.pause = self.next_pause;
        }
        found
    }
}

fn attempt(
    exponent: Exponent,
    values: &[f64],
    digits: &mut [i64; FRAME],
) -> Option<(Exponent, usize)> {
    let wrong = exponent.factors()?.encode(values, digits);
    Some((exponent, wrong))
}

/// Appends `values`, at least one and at most [`FRAME`].
pub(crate) fn encode(values: &[f64], cache: &mut ExponentCache, out: &mut Vec<u8>) -> ValueCodec {
    let first = values[0].to_bits();
    if values
        .iter()
        .fold(0, |other, value| other | (value.to_bits() ^ first))
        == 0
    {
        out.extend_from_slice(&first.to_le_bytes());
        return ValueCodec::Constant;
    }
    let mut integers = [0; FRAME];
    match cache.exponent(values, &mut integers) {
        Some((exponent, wrong)) => encode_decimal(values, exponent, wrong, &mut integers, out),
        None => encode_bits(values, out),
    }
}

fn encode_decimal(
    values: &[f64],
    exponent: Exponent,
    wrong: usize,
    digits: &mut [i64; FRAME],
    out: &mut Vec<u8>,
) -> ValueCodec {
    let exceptions = if wrong == 0 {
        Vec::new()
    } else {
        take_exceptions(values, exponent, digits)
    };
    out.push(exponent.0);
    if !exceptions.is_empty() {
        out.push(exceptions.len() as u8);
    }
    let packing = Packing::choose(digits, values.len());
    packing.encode(digits, values.len(), out);
    for index in &exceptions {
        out.push(*index);
        out.extend_from_slice(&values[*index as usize].to_le_bytes());
    }
    ValueCodec::Decimal {
        delta: packing.delta,
        exceptions: !exceptions.is_empty(),
    }
}

/// Returns the indexes of the exceptions: values that their digits don't decode to. Replaces the
/// digits of each with those of a neighbour. These digits are packed too, and arbitrary ones would
/// widen the whole frame.
fn take_exceptions(values: &[f64], exponent: Exponent, digits: &mut [i64; FRAME]) -> Vec<u8> {
    let Some(factors) = exponent.factors() else {
        return Vec::new();
    };
    let wrong = |index: &usize| factors.value(digits[*index]).to_bits() != values[*index].to_bits();
    let exceptions: Vec<usize> = (0..values.len()).filter(wrong).collect();
    let mut neighbour = (0..values.len())
        .find(|index| !exceptions.contains(index))
        .map_or(0, |index| digits[index]);
    for (index, digits) in digits.iter_mut().enumerate() {
        if exceptions.contains(&index) {
            *digits = neighbour;
        }
        neighbour = *digits;
    }
    exceptions.into_iter().map(|index| index as u8).collect()
}

fn encode_bits(values: &[f64], out: &mut Vec<u8>) -> ValueCodec {
    let all = values.iter().fold(0, |all, value| all | value.to_bits());
    // A shift by 64 would overflow. It would need all values to be 0.0, but those are `Constant`.
    let shift = all.trailing_zeros().min(63);
    let mut integers = [0; FRAME];
    for (integer, value) in integers.iter_mut().zip(values) {
        *integer = ordered(value.to_bits().cast_signed() >> shift);
    }
    out.push(shift as u8);
    let packing = Packing::choose(&integers, values.len());
    packing.encode(&integers, values.len(), out);
    ValueCodec::Bits {
        delta: packing.delta,
    }
}

/// Converts sign and magnitude to two's complement, and back.
#[inline(always)]
fn ordered(bits: i64) -> i64 {
    bits ^ (bits >> 63).cast_unsigned().wrapping_shr(1).cast_signed()
}

/// Values whose header has been read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EncodedValues<'a> {
    Constant(f64),
    Decimal {
        exponent: Exponent,
        digits: Packed<'a>,
        /// Nine bytes each: index and value.
        exceptions: &'a [u8],
    },
    Bits {
        shift: u8,
        bits: Packed<'a>,
    },
}

impl<'a> EncodedValues<'a> {
    #[inline]
    pub(crate) fn read(
        codec: ValueCodec,
        reader: &mut Reader<'a>,
        count: usize,
    ) -> Result<Self, Malformed> {
        Ok(match codec {
            ValueCodec::Constant => Self::Constant(f64::from_bits(reader.u64()?)),
            ValueCodec::Decimal { delta, exceptions } => {
                let exponent = Exponent(reader.byte()?);
                let exceptions = if exceptions { reader.byte()? } else { 0 };
                Self::Decimal {
                    exponent,
                    digits: Packed::read(reader, count, delta)?,
                    exceptions: reader.take(9 * exceptions as usize)?,
                }
            }
            ValueCodec::Bits { delta } => Self::Bits {
                shift: reader.byte()?,
                bits: Packed::read(reader, count, delta)?,
            },
        })
    }

    /// Decodes the values. `integers` is a work buffer.
    #[inline]
    pub(crate) fn decode(
        &self,
        integers: &mut [i64; FRAME],
        values: &mut [f64; FRAME],
    ) -> Result<(), Malformed> {
        match self {
            Self::Constant(value) => values.fill(*value),
            Self::Decimal {
                exponent,
                digits,
                exceptions,
            } => {
                let factors = exponent.factors().ok_or(Malformed)?;
                digits.decode(integers)?;
                for (value, digits) in values.iter_mut().zip(integers) {
                    *value = factors.value(*digits);
                }
                for [index, value @ ..] in exceptions.as_chunks::<9>().0 {
                    let slot = values.get_mut(*index as usize).ok_or(Malformed)?;
                    *slot = f64::from_le_bytes(*value);
                }
            }
            Self::Bits { shift, bits } => {
                if *shift > 63 {
                    return Err(Malformed);
                }
                bits.decode(integers)?;
                for (value, bits) in values.iter_mut().zip(integers) {
                    *value = f64::from_bits(ordered(*bits).cast_unsigned() << shift);
                }
            }
        }
        Ok(())
    }
}
