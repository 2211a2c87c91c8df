//! Pure functions on numbers. They don't know about series or labels.

pub(super) mod calendar;
pub(super) mod counter;
pub(super) mod elementwise;
mod exact_sums;
mod extended;
mod histogram;
mod integral;
pub(super) mod over_time;
pub(super) mod regression;
mod smoothing;
pub(super) mod statistics;
mod window;
mod window_function;

pub(super) use elementwise::Elementwise;
pub(super) use extended::{
    anchored_function, interpolated, samples as extended_samples, smoothed_function,
};
pub(super) use histogram::{
    Bucket, BucketFunction, named as bucket_function, quantile as bucket_quantile,
};
pub(super) use window::{SeriesFacts, Window};
pub(super) use window_function::{WindowFunction, window_function};
