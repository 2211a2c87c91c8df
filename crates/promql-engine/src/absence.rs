//! The number that marks a step at which a series has no value.
//!
//! It is the stale marker. A stored stale marker also means that the series has no value, and
//! arithmetic never produces one: an operation on a NaN results in a quiet NaN, but the marker is a
//! signalling NaN.

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
