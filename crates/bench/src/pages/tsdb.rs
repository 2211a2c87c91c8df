//! The parts of the page of the time-series engine.

use crate::report::number::{duration, significant, whole};
use crate::report::{Bar, Chart, Published, Section, View};

/// Writes by batch size, here and as published.
pub(super) fn batch_sizes(view: &View<'_>, published: &Published) -> Vec<Section> {
    let rows = published
        .get("batch_sizes")
        .map_or(&[][..], |table| &table.rows);
    let bars = rows.iter().filter_map(|printed| {
        let mut rows = ["tsdb_write", "tsdb_stress"].into_iter();
        let ns = rows.find_map(|table| view.mean_ns(table, &printed.0))?;
        Some(Bar {
            label: printed.0.clone(),
            values: vec![printed.3 as f64 * 1e9 / ns, printed.number(0)],
        })
    });
    let bars: Vec<Bar> = bars.collect();
    let chart = Chart {
        name: "batch-sizes".to_owned(),
        title: "Write Throughput by Batch Size, points/s".to_owned(),
        series: vec!["here".to_owned(), "published".to_owned()],
        bars,
    };
    let chart = (!chart.bars.is_empty()).then_some(Section::Chart(chart));
    chart.into_iter().collect()
}

/// The number of sensors that write a point every `seconds`.
pub(super) fn sensors(view: &View<'_>, seconds: &str) -> Option<String> {
    let seconds: f64 = seconds.parse().ok()?;
    Some(whole(
        seconds * 1e9 / view.mean_ns("tsdb_write", "Single Write")?,
    ))
}

/// The number of points that this many bytes hold, as in the last row of the memory's table.
pub(super) fn points(view: &View<'_>, bytes: &str) -> Option<String> {
    let bytes: f64 = bytes.parse().ok()?;
    let row = view.filling("tsdb_heap").last()?;
    let points = row.declared.events as f64;
    Some(whole(bytes * points / row.figures()?.peak_bytes as f64))
}

/// The time of a batch through JSON that the engine's API does not take.
pub(super) fn outside_engine(view: &View<'_>, _: &str) -> Option<String> {
    let json = view.mean_ns("tsdb_write", "Batch 1000")?;
    Some(duration(
        json - view.mean_ns("tsdb_engine_write", "Append batch")?,
    ))
}

/// The rate of batches, as a multiple of the rate of single writes, with a log.
pub(super) fn batching(view: &View<'_>, _: &str) -> Option<String> {
    let single = view.mean_ns("tsdb_log", "Append by handle, periodic fsync")?;
    Some(significant(
        single / view.mean_ns("tsdb_log", "Append batch, periodic fsync")?,
    ))
}

/// The saving of compression in percent, compared with 16 bytes for time and value.
pub(super) fn compression(view: &View<'_>, _: &str) -> Option<String> {
    let facts = view.facts();
    let size = facts
        .iter()
        .find(|(name, _)| name.ends_with("decimal walk"))?;
    let size: f64 = size.1.parse().ok()?;
    Some(whole(100.0 * (1.0 - size / 16.0)))
}
