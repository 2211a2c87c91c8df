//! "No value at this step", kept inside the column of values.
//!
//! The stale marker does it: a series that ends with it has no value there, and no arithmetic
//! produces it, since the result of an operation on a NaN is a quiet NaN and the marker is a
//! signalling one.

use crate::{STALE_MARKER, is_stale};

/// The value of a step at which a series has none.
pub(super) const ABSENT: f64 = STALE_MARKER;

/// Whether the value stands for none.
pub(super) fn is_absent(value: f64) -> bool {
    is_stale(value)
}

/// The values that are there, with the index of their step.
pub(super) fn present(values: &[f64]) -> impl Iterator<Item = (usize, f64)> + '_ {
    values
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, value)| !is_absent(*value))
}
