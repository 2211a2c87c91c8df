//! Decimal values, stored as integers in units of their last digit.
//!
//! A run uses this form only if `n / 10^digits` returns exactly the bits of each of its values. A
//! run with -0.0, an infinity, a NaN or a value with more digits is stored in another form. So
//! every value is read back as it was written.

use super::packed::{self, GROUP};
use super::varint::{push as push_varint, take as take_varint, unzigzag, zigzag};
use crate::Sample;

/// Maximum number of digits after the decimal point.
pub(super) const MAX_DIGITS: u8 = 9;

const POWERS: [f64; MAX_DIGITS as usize + 1] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// Adding this to a number below [`BOUND`] rounds it: the bits of the sum are the bits of this
/// constant plus the nearest integer.
const ROUNDER: f64 = 1.5 * (1_u64 << 52) as f64;

/// The sum of [`ROUNDER`] and an integer of smaller magnitude than this is exact.
const BOUND: f64 = (1_u64 << 51) as f64;

/// How many values to try with a number of digits before the whole run is encoded with it.
const PROBE: usize = 16;

/// Appends the values as decimals with `digits` digits after the point. Returns `false` if a value
/// is not such a decimal. Then the end of `to` is incomplete, and the caller must truncate `to`.
pub(super) fn push(to: &mut Vec<u8>, samples: &[Sample], digits: u8) -> bool {
    let power = POWERS[usize::from(digits)];
    let mut numbers = [0; GROUP];
    // Reject a wrong number of digits before anything is encoded.
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

/// Multiplies the values by `power` and rounds them to `numbers`. Returns `true` if each number,
/// divided by `power`, gives exactly the value.
fn whole_numbers(samples: &[Sample], power: f64, numbers: &mut [i64]) -> bool {
    // No early exit, so that the loop vectorizes.
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

/// Reads the values from the start of `bytes`; `None` if they are incomplete.
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
