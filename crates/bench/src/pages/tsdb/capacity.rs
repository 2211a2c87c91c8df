use super::memory::peak_bytes;
use super::{HEAP, NOT_MEASURED, QUERY, WRITE, mean_ns};
use crate::report::number::whole;
use crate::report::{Section, Table, View};
use crate::row::Reading;

/// Estimates for a device, computed from measured figures.
pub(super) fn sections(view: &View<'_>) -> Vec<Section> {
    let headings = ["Estimate", "here", "Published"];
    let number = |value: Option<f64>| value.map_or(NOT_MEASURED.to_owned(), whole);
    let lines = estimates(view)
        .map(|(name, value, published)| vec![name.to_owned(), number(value), published.to_owned()]);
    vec![
        Section::Table(Table::of_text(&headings, lines.to_vec())),
        Section::Text(
            "Computed from this run. Sensors: the single writes (JSON, one thread) per interval. Points: \
             the memory divided by the bytes per point of 1,000 series with 1,000 points each, with \
             all memory for the engine. The published page has 2.5M points in 512 MB and 40M in 8 GB."
                .to_owned(),
        ),
    ]
}

type Estimate = (&'static str, Option<f64>, &'static str);

fn estimates(view: &View<'_>) -> [Estimate; 6] {
    let seed = Reading::AsInTheSeed;
    let per_second = |table, operation| Some(1e9 / mean_ns(view, table, seed, operation)?);
    let writes = per_second(WRITE, "Single Write");
    let queries = per_second(QUERY, "Medium Range");
    let batches = per_second(WRITE, "Batch 1000").map(|batches| 1_000.0 * batches);
    let points = |memory: f64| {
        let rows = view.table(HEAP, Reading::OnTheDataset);
        let row = rows.last()?;
        Some(memory * row.declared.events as f64 / peak_bytes(row)?)
    };
    [
        (
            "Sensors, a point every 10 s, one thread",
            writes.map(|rate| 10.0 * rate),
            "1.9 million",
        ),
        ("Sensors, a point every second, one thread", writes, "190k"),
        ("Points/s in batches of 1,000, one thread", batches, "1M"),
        ("Queries of 1,000 points/s, one thread", queries, "4.7k"),
        ("Points in 512 MB", points(512.0 * 1024.0 * 1024.0), "~2.5M"),
        (
            "Points in 8 GB",
            points(8.0 * 1024.0 * 1024.0 * 1024.0),
            "~40M",
        ),
    ]
}
