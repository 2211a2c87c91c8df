//! `*_over_time`: the statistics of a window.

use super::{Window, statistics};

pub(super) fn mean(window: &Window<'_>) -> Option<f64> {
    Some(statistics::mean(window.values))
}

pub(super) fn sum(window: &Window<'_>) -> Option<f64> {
    Some(statistics::sum(window.values))
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
