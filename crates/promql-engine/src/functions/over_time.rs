//! `*_over_time`: the statistics of a window.

use super::window::seconds;
use super::{Window, statistics};

pub(super) fn mean(window: &Window<'_>) -> Option<f64> {
    Some(match window.sum() {
        // This sum has not overflowed.
        Some(sum) => sum / window.values.len() as f64,
        None => statistics::mean(window.values),
    })
}

pub(super) fn sum(window: &Window<'_>) -> Option<f64> {
    let direct = || statistics::sum(window.values);
    Some(window.sum().unwrap_or_else(direct))
}

pub(super) fn min(window: &Window<'_>) -> Option<f64> {
    Some(statistics::min(window.values))
}

pub(super) fn max(window: &Window<'_>) -> Option<f64> {
    Some(statistics::max(window.values))
}

pub(super) fn count(window: &Window<'_>) -> Option<f64> {
    Some(window.values.len() as f64)
}

pub(super) fn variance(window: &Window<'_>) -> Option<f64> {
    Some(statistics::variance(window.values))
}

pub(super) fn deviation(window: &Window<'_>) -> Option<f64> {
    Some(statistics::variance(window.values).sqrt())
}

pub(super) fn quantile(window: &Window<'_>, quantile: f64) -> Option<f64> {
    Some(statistics::quantile(&mut window.values.to_vec(), quantile))
}

/// The median of the distances from the median. NaN if one of the values is.
pub(super) fn median_deviation(window: &Window<'_>) -> Option<f64> {
    let mut values = window.values.to_vec();
    if values.iter().any(|value| value.is_nan()) {
        return Some(f64::NAN);
    }
    let median = statistics::quantile(&mut values, 0.5);
    values
        .iter_mut()
        .for_each(|value| *value = (*value - median).abs());
    Some(statistics::quantile(&mut values, 0.5))
}

/// The time, in seconds, of the last sample that is `at_least_as` extreme as all others. NaN is less
/// extreme than any number.
pub(super) fn time_of(window: &Window<'_>, at_least_as: fn(&f64, &f64) -> bool) -> Option<f64> {
    let mut samples = window.timestamps.iter().zip(window.values);
    let first = samples.next()?;
    let (time, _) = samples.fold(first, |most, next| {
        let is_more = at_least_as(next.1, most.1) || most.1.is_nan();
        if is_more { next } else { most }
    });
    Some(seconds(*time))
}
