//! Values that are decimals, as whole numbers of their last digit.
//!
//! A value is taken as `n / 10^digits` only if this division gives back its very bits: so -0.0,
//! infinities, every NaN and values with more digits are none, and what is read is what was written.

use super::packed::{self, GROUP};
use super::varint::{push as push_varint, take as take_varint, unzigzag, zigzag};
use crate::Sample;

/// The most digits behind the point.
pub(super) const MAX_DIGITS: u8 = 9;

const POWERS: [f64; MAX_DIGITS as usize + 1] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// Added to a number of less than [`BOUND`], leaves no bits behind the point: the sum's bits are
/// those of this number plus the nearest whole number.
const ROUNDER: f64 = 1.5 * (1_u64 << 52) as f64;

/// Below it a whole number and [`ROUNDER`] have an exact sum.
const BOUND: f64 = (1_u64 << 51) as f64;

/// How many values decide whether a number of digits is worth trying.
const PROBE: usize = 16;

/// Appends the values as decimals of so many digits. If one is none, returns `false`, with
/// something half written at the end of `to`.
pub(super) fn push(to: &mut Vec<u8>, samples: &[Sample], digits: u8) -> bool {
    let power = POWERS[usize::from(digits)];
    let mut numbers = [0; GROUP];
    let probe = &samples[..samples.len().min(PROBE)];
    if !whole_numbers(probe, power, &mut numbers) {
        return false;
    }
    let mut last = numbers[0];
    push_varint(to, zigzag(last));
    for group in samples[1..].chunks(GROUP) {
        let numbers = &mut numbers[..group.len()];
        if !whole_numbers(group, power, numbers) {
            return false;
        }
        for number in &mut *numbers {
            (*number, last) = (*number - last, *number);
        }
        packed::push(to, numbers);
    }
    true
}

/// The values times `power`; returns whether each is a whole number that gives its value back.
fn whole_numbers(samples: &[Sample], power: f64, numbers: &mut [i64]) -> bool {
    let mut all = true;
    for (number, sample) in numbers.iter_mut().zip(samples) {
        let scaled = sample.value * power;
        let sum = scaled + ROUNDER;
        let back = (sum - ROUNDER) / power;
        all &= (scaled.abs() < BOUND) & (back.to_bits() == sample.value.to_bits());
        *number = sum.to_bits().wrapping_sub(ROUNDER.to_bits()) as i64;
    }
    all
}

/// Fills in the values from the start of `bytes`; `None` if they aren't all there.
pub(super) fn take(bytes: &mut &[u8], samples: &mut [Sample], digits: u8) -> Option<()> {
    let power = *POWERS.get(usize::from(digits))?;
    let (first, rest) = samples.split_first_mut()?;
    let mut last = unzigzag(take_varint(bytes)?);
    first.value = last as f64 / power;
    let mut numbers = [0; GROUP];
    for group in rest.chunks_mut(GROUP) {
        packed::take(bytes, &mut numbers[..group.len()])?;
        for (sample, number) in group.iter_mut().zip(numbers) {
            last = last.wrapping_add(number);
            sample.value = last as f64 / power;
        }
    }
    Some(())
}
