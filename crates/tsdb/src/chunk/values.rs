//! Values of a frame, bit for bit.
//!
//! ```text
//! constant:  the value (8 B)
//! decimal:   exponent (u8) · [how many exceptions (u8)] · integers
//!            · exceptions: place (u8) · value (8 B), each
//! bits:      shift (u8) · integers
//! ```
//!
//! Where a value is no short decimal, its bits are the integer: without the zeros that all values
//! of the frame end with, and mapped so that the order of the integers is that of the doubles. What
//! of a smooth curve is alike at the top then vanishes in the least, as it would under XOR, and
//! random mantissas cost their bits and no more.

use super::decimal::{Exponent, search};
use super::integers::{Packed, Packing};
use super::reader::Reader;
use super::{FRAME, Malformed};

/// Which of the codecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueCodec {
    Constant,
    Decimal { delta: bool, exceptions: bool },
    Bits { delta: bool },
}

/// The exponent that served last, so that it need not be searched again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExponentCache {
    current: Option<Exponent>,
    /// For how many frames not to search, after searches in vain.
    pause: u8,
    next_pause: u8,
}

/// The longest pause, in frames.
const MAX_PAUSE: u8 = 64;

/// More exceptions than one in so many are worth a search.
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
            self.pause -= 1;
            return None;
        }
        let found = search(values).and_then(|exponent| attempt(exponent, values, digits));
        let found = found.filter(|(_, wrong)| tolerable(wrong));
        if let Some((exponent, _)) = found {
            self.current = Some(exponent);
            self.next_pause = 0;
        } else {
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
    for place in &exceptions {
        out.push(*place);
        out.extend_from_slice(&values[*place as usize].to_le_bytes());
    }
    ValueCodec::Decimal {
        delta: packing.delta,
        exceptions: !exceptions.is_empty(),
    }
}

/// The places whose digits do not give the value. Their digits become the neighbour's, for they are
/// packed too.
fn take_exceptions(values: &[f64], exponent: Exponent, digits: &mut [i64; FRAME]) -> Vec<u8> {
    let Some(factors) = exponent.factors() else {
        return Vec::new();
    };
    let wrong = |place: &usize| factors.value(digits[*place]).to_bits() != values[*place].to_bits();
    let places: Vec<usize> = (0..values.len()).filter(wrong).collect();
    let mut neighbour = (0..values.len())
        .find(|place| !places.contains(place))
        .map_or(0, |place| digits[place]);
    for (place, digits) in digits.iter_mut().enumerate() {
        if places.contains(&place) {
            *digits = neighbour;
        }
        neighbour = *digits;
    }
    places.into_iter().map(|place| place as u8).collect()
}

fn encode_bits(values: &[f64], out: &mut Vec<u8>) -> ValueCodec {
    let all = values.iter().fold(0, |all, value| all | value.to_bits());
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

/// Sign and magnitude to two's complement, and back.
#[inline(always)]
fn ordered(bits: i64) -> i64 {
    bits ^ (bits >> 63).cast_unsigned().wrapping_shr(1).cast_signed()
}

/// The values of a frame, not yet decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EncodedValues<'a> {
    Constant(f64),
    Decimal {
        exponent: Exponent,
        digits: Packed<'a>,
        /// Nine bytes each.
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

    /// Writes the values; `integers` is for whatever is needed on the way.
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
                for [place, value @ ..] in exceptions.as_chunks::<9>().0 {
                    let place = values.get_mut(*place as usize).ok_or(Malformed)?;
                    *place = f64::from_le_bytes(*value);
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
