use super::{HEAP, NOT_MEASURED, QUERY, STRESS, WRITE, mean_ns};
use crate::report::number::{bytes, duration, hundredths, whole};
use crate::report::{Bar, Chart, Section, Table, View};
use crate::result::RowResult;
use crate::row::Reading;

/// The memory of a million points: the peak of the rows that fill an engine.
pub(super) fn sections(view: &View<'_>) -> Vec<Section> {
    let lines: Vec<Vec<String>> = view
        .table(HEAP, Reading::OnTheDataset)
        .map(|row| {
            let declared = &row.declared;
            let size = |size: &dyn Fn(f64) -> String| {
                let peak = peak_bytes(row);
                peak.map_or(NOT_MEASURED.to_owned(), size)
            };
            vec![
                declared.dataset.clone(),
                whole(declared.events as f64),
                size(&bytes),
                size(&|peak| hundredths(peak / declared.events as f64)),
            ]
        })
        .collect();
    let headings = ["Data", "Points", "Live heap", "Bytes per point"];
    vec![
        Section::Table(Table::of_text(&headings, lines)),
        Section::Text(
            "The maximum memory in use while an engine is filled: blocks, heads, labels, index, and \
             temporary memory of the writes. The published page has 197 bytes per point, which is the \
             garbage of a query. Its resident size is 57 bytes with shared tags and 393 with a map of \
             tags per point. The size of sealed blocks alone is in the list at the top."
                .to_owned(),
        ),
    ]
}

pub(super) fn peak_bytes(row: &RowResult) -> Option<f64> {
    Some(row.figures()?.peak_bytes as f64)
}

/// The published page's charts: queries by size, writes by batch size.
pub(super) fn scaling(view: &View<'_>) -> Vec<Section> {
    let seed = Reading::AsInTheSeed;
    let queries = [
        (QUERY, "Large Range", 10_000.0, "2.47 ms"),
        (STRESS, "100k point query", 100_000.0, "24 ms"),
        (STRESS, "1M point query", 1e6, "288 ms"),
    ];
    let lines = queries.map(|(table, operation, points, published)| {
        let mean = mean_ns(view, table, seed, operation);
        let cell = |text: &dyn Fn(f64) -> String| mean.map_or(NOT_MEASURED.to_owned(), text);
        vec![
            whole(points),
            cell(&duration),
            cell(&|ns| duration(ns / points)),
            published.to_owned(),
        ]
    });
    let batches = [
        (WRITE, "Single Write", 1.0, 240_000.0),
        (WRITE, "Batch 100", 100.0, 1e6),
        (WRITE, "Batch 1000", 1_000.0, 1e6),
        (STRESS, "Batch 100k", 100_000.0, 1e6),
    ];
    let bars = batches
        .iter()
        .filter_map(|(table, operation, points, published)| {
            let ns = mean_ns(view, *table, seed, operation)?;
            Some(Bar {
                label: (*operation).to_owned(),
                values: vec![points * 1e9 / ns, *published],
            })
        });
    let bars: Vec<Bar> = bars.collect();
    let headings = ["Points of a query", "Latency", "per point", "Published"];
    let mut sections = vec![Section::Table(Table::of_text(&headings, lines.to_vec()))];
    if !bars.is_empty() {
        sections.push(Section::Chart(Chart {
            name: "batch-sizes".to_owned(),
            title: "Write Throughput by Batch Size, points/s".to_owned(),
            series: vec!["here".to_owned(), "published".to_owned()],
            bars,
        }));
    }
    sections
}
