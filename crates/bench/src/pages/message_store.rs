//! The parts of the page of the message store.

use crate::report::number::{duration, significant};
use crate::report::{Chart, Published, Section, View, bars};
use crate::result::RowResult;
use crate::row::Reading;

/// The time of the published ops on each backend.
pub(super) fn latency(view: &View<'_>, _: &Published) -> Vec<Section> {
    let tables = ["message_write", "message_stream", "message_category"];
    let rows = tables
        .into_iter()
        .flat_map(|table| view.table(table, Reading::AsInTheSeed));
    vec![Section::Chart(Chart {
        name: "message-store-latency".to_owned(),
        title: "Mean time of one op, µs".to_owned(),
        series: vec!["µs".to_owned()],
        bars: bars(rows, label, |figures| vec![figures.mean_ns.value / 1000.0]),
    })]
}

fn label(row: &RowResult) -> String {
    let declared = &row.declared;
    let variant = declared.variant.as_deref().unwrap_or_default();
    let label = format!("{} {} {variant}", declared.operation, declared.dataset);
    label.trim_end().to_owned()
}

/// `10 ms, message_write, Postgres`: the time of a backend's row against a published target, as
/// three cells: the time, the margin, and whether the target is met.
pub(super) fn against(view: &View<'_>, words: &str) -> Option<String> {
    let (target, words) = words.split_once(" ms, ")?;
    let (table, backend) = words.split_once(", ")?;
    let target_ns = target.parse::<f64>().ok()? * 1e6;
    // The row without a variant is the backend's default configuration.
    let is_default =
        |row: &&RowResult| row.declared.dataset == backend && row.declared.variant.is_none();
    let row = view.table(table, Reading::AsInTheSeed).find(is_default);
    let Some(figures) = row.and_then(RowResult::figures) else {
        return Some("not measured | - | -".to_owned());
    };
    let mean_ns = figures.mean_ns.value;
    let margin = target_ns / mean_ns;
    let status = if margin > 1.0 { "met" } else { "missed" };
    let (time, margin) = (duration(mean_ns), significant(margin));
    Some(format!("{time} | {margin}x | {status}"))
}
