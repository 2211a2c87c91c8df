//! A run: consecutive samples of one series. Timestamps are stored as steps, values as decimals if
//! possible.

use super::decimal;
use super::packed::{self, GROUP};
use super::varint::{push as push_varint, take as take_varint, unzigzag, zigzag};
use crate::Sample;

/// Maximum number of samples in a run.
pub(super) const MAX_RUN: usize = 1024;

/// The bit of the form byte for timestamps without a constant step.
const UNEVEN: u8 = 0x80;

/// Appends a run of 1 to [`MAX_RUN`] samples. The first timestamp is stored relative to `clock`.
pub(super) fn push(to: &mut Vec<u8>, samples: &[Sample], clock: i64) {
    let form = to.len();
    to.push(0);
    if push_times(to, samples, clock) {
        to[form] = UNEVEN;
    }
    to[form] |= push_values(to, samples);
}

/// Fills `samples` with a run from the start of `bytes`; `None` if the run is incomplete.
pub(super) fn take(bytes: &mut &[u8], samples: &mut [Sample], clock: i64) -> Option<()> {
    let (&form, rest) = bytes.split_first()?;
    *bytes = rest;
    take_times(bytes, samples, clock, form & UNEVEN != 0)?;
    take_values(bytes, samples, form & !UNEVEN)
}

/// Appends the timestamps. Returns `true` if their steps differ.
fn push_times(to: &mut Vec<u8>, samples: &[Sample], clock: i64) -> bool {
    let first = samples[0].timestamp_ms;
    push_varint(to, zigzag(first.wrapping_sub(clock)));
    let Some(second) = samples.get(1) else {
        return false;
    };
    let step = second.timestamp_ms.wrapping_sub(first);
    push_varint(to, zigzag(step));
    let even = samples
        .iter()
        .zip(&samples[1..])
        .all(|(a, b)| b.timestamp_ms.wrapping_sub(a.timestamp_ms) == step);
    if !even {
        push_second_differences(to, &samples[1..], step);
    }
    !even
}

fn push_second_differences(to: &mut Vec<u8>, samples: &[Sample], mut step: i64) {
    let mut last = samples[0].timestamp_ms;
    let mut numbers = [0; GROUP];
    for group in samples[1..].chunks(GROUP) {
        for (number, sample) in numbers.iter_mut().zip(group) {
            let next = sample.timestamp_ms.wrapping_sub(last);
            *number = next.wrapping_sub(step);
            (step, last) = (next, sample.timestamp_ms);
        }
        packed::push(to, &numbers[..group.len()]);
    }
}

fn take_times(bytes: &mut &[u8], samples: &mut [Sample], clock: i64, uneven: bool) -> Option<()> {
    let (first, rest) = samples.split_first_mut()?;
    first.timestamp_ms = clock.wrapping_add(unzigzag(take_varint(bytes)?));
    if rest.is_empty() {
        return Some(());
    }
    let mut step = unzigzag(take_varint(bytes)?);
    let mut last = first.timestamp_ms;
    if !uneven {
        for sample in rest {
            last = last.wrapping_add(step);
            sample.timestamp_ms = last;
        }
        return Some(());
    }
    let (second, rest) = rest.split_first_mut()?;
    last = last.wrapping_add(step);
    second.timestamp_ms = last;
    let mut numbers = [0; GROUP];
    for group in rest.chunks_mut(GROUP) {
        packed::take(bytes, &mut numbers[..group.len()])?;
        for (sample, number) in group.iter_mut().zip(numbers) {
            step = step.wrapping_add(number);
            last = last.wrapping_add(step);
            sample.timestamp_ms = last;
        }
    }
    Some(())
}

/// Appends the values. Returns the form: 0 for raw values, otherwise the number of decimal digits
/// plus one.
fn push_values(to: &mut Vec<u8>, samples: &[Sample]) -> u8 {
    let start = to.len();
    // The fewest digits that work give the smallest integers.
    for digits in 0..=decimal::MAX_DIGITS {
        if decimal::push(to, samples, digits) {
            return digits + 1;
        }
        to.truncate(start);
    }
    to.reserve(samples.len() * 8);
    for sample in samples {
        to.extend_from_slice(&sample.value.to_bits().to_le_bytes());
    }
    0
}

fn take_values(bytes: &mut &[u8], samples: &mut [Sample], form: u8) -> Option<()> {
    if let Some(digits) = form.checked_sub(1) {
        return decimal::take(bytes, samples, digits);
    }
    let (raw, rest) = bytes.split_at_checked(samples.len() * 8)?;
    let (values, _) = raw.as_chunks::<8>();
    for (sample, value) in samples.iter_mut().zip(values) {
        sample.value = f64::from_bits(u64::from_le_bytes(*value));
    }
    *bytes = rest;
    Some(())
}
