use super::{ENGINE_WRITE, LOG, NOT_MEASURED, QUERY, WRITE, mean_ns, row};
use crate::report::number::{duration, significant, whole};
use crate::report::{Section, Table, View};
use crate::row::Reading;

const CLAIMS: [[&str; 5]; 4] = [
    [
        "PulsarDB (measured there)",
        "5.3 µs",
        "97 µs",
        "213 µs",
        "In-memory",
    ],
    ["InfluxDB", "~50 µs", "~500 µs", "~500 µs", "Disk-based"],
    [
        "Prometheus",
        "~20 µs",
        "~200 µs",
        "~300 µs",
        "In-memory + disk",
    ],
    ["TimescaleDB", "~100 µs", "~1 ms", "~1 ms", "PostgreSQL"],
];

/// The published comparison, with our row.
pub(super) fn comparison(view: &View<'_>) -> Vec<Section> {
    let seed = Reading::AsInTheSeed;
    let time = |table, operation| {
        mean_ns(view, table, seed, operation).map_or(NOT_MEASURED.to_owned(), duration)
    };
    let mut lines = vec![vec![
        "This engine (measured here)".to_owned(),
        time(WRITE, "Single Write"),
        time(WRITE, "Batch 100"),
        time(QUERY, "Medium Range"),
        "In-memory, with a log on request".to_owned(),
    ]];
    lines.extend(CLAIMS.map(|claim| claim.map(str::to_owned).to_vec()));
    let headings = [
        "Database",
        "Single Write",
        "Batch 100",
        "Query 1k pts",
        "Architecture",
    ];
    vec![
        Section::Table(Table::of_text(&headings, lines)),
        Section::Text(
            "The lines of InfluxDB, Prometheus and TimescaleDB are claims of the published page \
             without a benchmark. Databases that were measured next to this engine are listed under \
             *Goals*."
                .to_owned(),
        ),
    ]
}

/// The effects of optimizations that the published page announces, next to the measured ones.
pub(super) fn optimizations(view: &View<'_>) -> Vec<Section> {
    let seed = Reading::AsInTheSeed;
    let allocations = |operation| {
        let figures = row(view, WRITE, seed, operation)?.figures()?;
        Some(figures.allocations_per_op)
    };
    let text = |value: Option<String>| value.unwrap_or(NOT_MEASURED.to_owned());
    let pooled = allocations("Single Write").zip(allocations("Batch 1000"));
    let parsing =
        mean_ns(view, WRITE, seed, "Batch 1000").zip(batch_ns(view, ENGINE_WRITE, "Append batch"));
    let single = batch_ns(view, LOG, "Append by handle, periodic fsync");
    let batched = single.zip(batch_ns(view, LOG, "Append batch, periodic fsync"));
    let lines = [
        (
            "Object pooling",
            "-30% allocations, -15% latency",
            pooled.map(|(single, batch)| {
                format!(
                    "{} allocations for one point, {} for a thousand: buffers are reused",
                    whole(single),
                    whole(batch)
                )
            }),
        ),
        (
            "Zero-copy JSON parsing",
            "-40% parsing overhead",
            parsing.map(|(json, engine)| {
                format!(
                    "{} of {} for a batch of 1,000 are outside the engine",
                    duration(json - engine),
                    duration(json)
                )
            }),
        ),
        (
            "Batching before the log",
            "+50% throughput with WAL",
            batched.map(|(single, batch)| {
                format!(
                    "{}x the points/s of single writes",
                    significant(single / batch)
                )
            }),
        ),
        (
            "Compression",
            "90% storage reduction, +10 µs write latency",
            compression(view),
        ),
    ];
    let lines = lines
        .map(|(name, announced, found)| vec![name.to_owned(), announced.to_owned(), text(found)]);
    let headings = ["Optimization", "Announced", "Measured here"];
    vec![Section::Table(Table::of_text(&headings, lines.to_vec()))]
}

fn batch_ns(view: &View<'_>, table: crate::row::TableId, operation: &str) -> Option<f64> {
    mean_ns(view, table, Reading::OnTheDataset, operation)
}

/// The saving of compression compared with 16 bytes for time and value, and the time of a write.
fn compression(view: &View<'_>) -> Option<String> {
    let facts = view.facts();
    let size = facts
        .iter()
        .find(|(name, _)| name.ends_with("decimal walk"))?;
    let size: f64 = size.1.parse().ok()?;
    let write = batch_ns(view, ENGINE_WRITE, "Append by handle")? / 1_000.0;
    Some(format!(
        "{}% less than time and value, and {} for a write, compression included",
        whole(100.0 * (1.0 - size / 16.0)),
        duration(write)
    ))
}
