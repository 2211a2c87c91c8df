//! Sums of any part of a series in constant time, bit for bit those of
//! [`statistics::sum`](super::statistics::sum).
//!
//! Every value is an integer times the unit, the greatest power of two that divides all values. The
//! sums of these integers are exact, so the difference of two of them is the exact sum of the values
//! in between. Its conversion rounds once.
//!
//! The compensated sum of n values rounds only once too, if all its rounding errors add up without
//! loss. With n ≤ 2^k values below 2^top, its intermediate sums are below 2^(k + top + 1). So an
//! error is at most 2^(k + top - 53), all of them together are at most 2^(2k + top - 53), and each is
//! a multiple of the unit. Their sums are exact if they stay below 2^53 units:
//! 2k + top - log2(unit) ≤ 106. Values of similar size, such as percentages with two decimals, fulfil
//! this for millions of samples.

use std::ops::Range;

/// The greatest 2k + top - log2(unit) for which both sums are equal.
const BITS: u32 = 106;

/// The exponents of values whose sums neither overflow nor lose bits to a subnormal result.
const EXPONENTS: Range<i32> = -1_000..900;

/// The exact sums of the first 0, 1, 2, ... values of a series.
pub(super) struct ExactSums {
    /// In units. Overflow wraps, because the difference of two sums is right even then.
    sums: Vec<i128>,
    /// 2^`unit` divides every value.
    unit: i32,
    /// Every value is below 2^(`unit` + `bits`).
    bits: u32,
}

impl ExactSums {
    /// Returns `None` if a value is not finite, or if the values differ too much in size.
    pub(super) fn new(values: &[f64]) -> Option<Self> {
        let (unit, bits) = scale(values)?;
        let mut sum = 0_i128;
        let mut sums = Vec::with_capacity(values.len() + 1);
        sums.push(sum);
        for value in values {
            sum = sum.wrapping_add(in_units(*value, unit));
            sums.push(sum);
        }
        Some(Self { sums, unit, bits })
    }

    /// The sum of a part of the values; `None` if the part is too long for an exact compensated sum.
    pub(super) fn sum(&self, part: Range<usize>) -> Option<f64> {
        let doublings = part.len().next_power_of_two().trailing_zeros();
        if 2 * doublings + self.bits > BITS {
            return None;
        }
        let units = self.sums[part.end].wrapping_sub(self.sums[part.start]);
        Some(units as f64 * power_of_two(self.unit))
    }
}

/// The unit's exponent, and the number of bits of the greatest value in units.
fn scale(values: &[f64]) -> Option<(i32, u32)> {
    let (mut unit, mut top) = (EXPONENTS.end, EXPONENTS.start);
    // Zeros are multiples of any unit.
    for value in values.iter().filter(|value| **value != 0.0) {
        let (mantissa, exponent) = parts(*value);
        unit = unit.min(exponent + mantissa.trailing_zeros() as i32);
        top = top.max(exponent + MANTISSA_BITS);
    }
    if unit >= top {
        return Some((0, 0));
    }
    let bits = top.abs_diff(unit);
    // The exponent of a value that is not finite is beyond the range.
    (EXPONENTS.contains(&unit) && EXPONENTS.contains(&top) && bits <= BITS).then_some((unit, bits))
}

const MANTISSA_BITS: i32 = f64::MANTISSA_DIGITS as i32;

/// The mantissa as an integer, and the exponent of its lowest bit.
fn parts(value: f64) -> (u64, i32) {
    const FRACTION_BITS: i32 = MANTISSA_BITS - 1;
    let bits = value.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let exponent = (bits >> FRACTION_BITS & 0x7ff) as i32;
    // Subnormal numbers are outside of `EXPONENTS`, so their missing leading bit does no harm.
    (
        fraction | 1 << FRACTION_BITS,
        exponent - f64::MAX_EXP + 2 - MANTISSA_BITS,
    )
}

fn in_units(value: f64, unit: i32) -> i128 {
    if value == 0.0 {
        return 0;
    }
    let (mantissa, exponent) = parts(value);
    let shift = exponent - unit;
    let size = match shift {
        0.. => i128::from(mantissa) << shift,
        // The bits below the unit are zero.
        _ => i128::from(mantissa >> -shift),
    };
    if value < 0.0 { -size } else { size }
}

fn power_of_two(exponent: i32) -> f64 {
    let biased = (exponent + f64::MAX_EXP - 1) as u64;
    f64::from_bits(biased << (f64::MANTISSA_DIGITS - 1))
}
