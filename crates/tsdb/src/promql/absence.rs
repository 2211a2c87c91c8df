//! "No value at this step", stored in the column of values.
//!
//! The stale marker stands for it. A series that ends with the marker has no value there, and
//! arithmetic never produces it: an operation on a NaN results in a quiet NaN, and the marker is a
//! signalling one.

use crate::{STALE_MARKER, is_stale};

/// Marks a step at which the series has no value.
pub(super) const ABSENT: f64 = STALE_MARKER;

/// Whether the value is [`ABSENT`].
pub(super) fn is_absent(value: f64) -> bool {
    is_stale(value)
}

/// The values that are not [`ABSENT`], with the index of their step.
pub(super) fn present(values: &[f64]) -> impl Iterator<Item = (usize, f64)> + '_ {
    values
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, value)| !is_absent(*value))
}
