//! Sentences that sum up several rows. Rows without figures are left out; `None` if none is left.

use super::number::{significant, whole};
use crate::result::{Figures, RowResult};

/// `Append, 1 caller, 1 event a call: 3,833–4,162 calls/s over 3 rows`.
pub(crate) fn calls_range(rows: &[&RowResult], concurrency: usize, events: u64) -> Option<String> {
    let figures = figures_of(rows, concurrency, events);
    let (low, high) = range(figures.iter().map(|figures| figures.calls_per_second))?;
    let operation = &rows.first()?.declared.operation;
    Some(format!(
        "{operation}, {}, {}: {}–{} calls/s over {} rows",
        counted(concurrency as u64, "caller"),
        counted(events, "event") + " a call",
        whole(low),
        whole(high),
        figures.len()
    ))
}

/// The ratio of the calls per second of many callers to those of one caller.
pub(crate) fn concurrency_gain(
    rows: &[&RowResult],
    concurrency: usize,
    events: u64,
) -> Option<String> {
    let many = mean(&figures_of(rows, concurrency, events))?;
    let one = mean(&figures_of(rows, 1, events))?;
    let operation = &rows.first()?.declared.operation;
    Some(format!(
        "{operation}, {concurrency} callers together make {} × the calls/s of 1 caller",
        significant(many / one)
    ))
}

/// `Append, 1 caller, 1 event a call: 1,024–1,030 B and 12–12 allocations for one op`.
pub(crate) fn memory_range(rows: &[&RowResult], concurrency: usize, events: u64) -> Option<String> {
    let figures = figures_of(rows, concurrency, events);
    let bytes = range(figures.iter().map(|figures| figures.bytes_per_op))?;
    let allocations = range(figures.iter().map(|figures| figures.allocations_per_op))?;
    let operation = &rows.first()?.declared.operation;
    Some(format!(
        "{operation}, {}, {}: {}–{} B and {}–{} allocations for one op",
        counted(concurrency as u64, "caller"),
        counted(events, "event") + " a call",
        whole(bytes.0),
        whole(bytes.1),
        whole(allocations.0),
        whole(allocations.1)
    ))
}

fn figures_of<'a>(rows: &[&'a RowResult], concurrency: usize, events: u64) -> Vec<&'a Figures> {
    let same = rows.iter().filter(|row| {
        let declared = &row.declared;
        declared.concurrency == concurrency
            && declared.events == events
            // Variants and other servers measure something else.
            && declared.variant.is_none()
            && declared.server.is_none()
    });
    same.filter_map(|row| row.figures()).collect()
}

fn mean(figures: &[&Figures]) -> Option<f64> {
    let total: f64 = figures.iter().map(|figures| figures.calls_per_second).sum();
    (!figures.is_empty()).then(|| total / figures.len() as f64)
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
