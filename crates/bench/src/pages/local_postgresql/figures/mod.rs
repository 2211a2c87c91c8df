//! The published figures as printed, in the order of the page: first the tables in ns and bytes,
//! then the tables in ms and KB.

#[rustfmt::skip] // One row per line, as on the published page.
mod first_group;
#[rustfmt::skip]
mod second_group;

use crate::report::PublishedRow;

pub(crate) use first_group::{APPEND, APPEND_IF, COMPARISON, PROJECT, QUERY};
pub(crate) use second_group::{
    APPEND_IF_CONFLICT_MS, APPEND_IF_MS, APPEND_MS, PROJECTION_LIMITS_MS, PROJECTION_MS, READ_MS,
};

/// The machine that all these figures were measured on, its PostgreSQL, and the date.
pub(super) const MACHINE: &str = "Apple M1 Pro, PostgreSQL 16, September 16, 2025";

/// A published row. `concurrency` is the number of callers, and `events` the number of events in a
/// call. The array holds ops/sec, latency, memory and allocations.
pub(super) const fn row(
    operation: &'static str,
    dataset: &'static str,
    concurrency: usize,
    events: u64,
    [ops_per_second, latency, memory, allocations]: [f64; 4],
) -> PublishedRow {
    let success_rate = None;
    PublishedRow {
        operation,
        dataset,
        concurrency,
        events,
        ops_per_second,
        latency,
        memory,
        allocations,
        success_rate,
    }
}
