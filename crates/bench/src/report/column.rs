//! The columns of tables of measured rows. A page names them by their headings.

use super::number::{bytes, duration, hundredths, significant, whole};
use crate::load::LoadFigures;
use crate::result::{Figures, FloorFigures, Interval, RowResult};

/// A column of a table.
pub(super) struct Column {
    pub(super) heading: String,
    /// Numbers are aligned to the right.
    pub(super) is_number: bool,
    pub(super) cell: Cell,
    /// The floor of a [`Cell::Floor`].
    pub(super) floor: String,
}

/// The content of a column's cells.
#[derive(Clone, Copy)]
pub(super) enum Cell {
    /// A property that the row declares.
    Declared(fn(&RowResult) -> String),
    /// A declared property that published rows lack; empty if the row was not measured.
    Own(fn(&RowResult) -> String),
    /// A measured figure.
    Figure(fn(&RowResult, &Figures) -> String),
    /// A measured figure of the floor that the column names.
    Floor(fn(&RowResult, &FloorFigures) -> String),
    /// A figure of a load.
    Load(fn(&RowResult, &LoadFigures) -> String),
    /// The rate as a share of the row that a goal names; empty without such a goal.
    ShareOfRow,
    /// The published figures.
    Published,
}

use Cell::{Declared, Figure, Floor, Load, Own, Published, ShareOfRow};

/// All columns: heading, whether the cells are numbers, and the cells.
#[rustfmt::skip] // One column per line.
const COLUMNS: &[(&str, bool, Cell)] = &[
    ("Operation", false, Declared(operation)),
    ("Dataset", false, Declared(|row| row.declared.dataset.clone())),
    ("Concurrency", true, Declared(|row| row.declared.concurrency.to_string())),
    ("Events", true, Declared(|row| whole(row.declared.events as f64))),
    ("Conflict Events", true, Own(|row| whole(row.declared.conflict_events as f64))),
    ("Throughput (ops/sec)", true, Figure(|_, row| rate(row.calls_per_second))),
    ("Events/s", true, Figure(|row, of| rate(of.calls_per_second * row.declared.events as f64))),
    ("Barrier ops/s", true, Figure(|_, row| rate(row.ops_per_second()))),
    ("Latency", true, Figure(|_, row| duration(row.mean_ns.value))),
    ("Latency (ns/op)", true, Figure(|_, row| significant(row.mean_ns.value))),
    ("Latency (ms/op)", true, Figure(|_, row| significant(row.mean_ns.value / 1e6))),
    ("Latency per event", true, Figure(|row, of| duration(of.mean_ns.value / events(row)))),
    ("Memory", true, Figure(|_, row| bytes(row.bytes_per_op))),
    ("Memory (B/op)", true, Figure(|_, row| whole(row.bytes_per_op))),
    ("Memory (KB/op)", true, Figure(|_, row| hundredths(row.bytes_per_op / 1024.0))),
    ("Peak", true, Figure(|_, row| bytes(row.peak_bytes as f64))),
    ("Peak (KB)", true, Figure(|_, row| hundredths(row.peak_bytes as f64 / 1024.0))),
    ("Peak per event", true, Figure(|row, of| hundredths(of.peak_bytes as f64 / events(row)))),
    ("Allocations", true, Figure(|_, row| whole(row.allocations_per_op))),
    ("Success Rate", true, Figure(|_, row| format!("{:.3}", row.success_rate))),
    ("Limit Exceeded Rate", true, Figure(|_, row| format!("{:.3}", row.refused_rate))),
    ("Conflict Rate", true, Figure(|_, row| format!("{:.3}", row.refused_rate))),
    ("p50 (µs/call)", true, Figure(|_, row| significant(row.p50_ns as f64 / 1e3))),
    ("p99 (µs/call)", true, Figure(|_, row| significant(row.p99_ns as f64 / 1e3))),
    ("p50 (ms)", true, Figure(|_, row| significant(row.p50_ns as f64 / 1e6))),
    ("p99 (ms)", true, Figure(|_, row| significant(row.p99_ns as f64 / 1e6))),
    ("× floor", false, Figure(|_, row| first_floor(row))),
    ("Published", false, Published),
    ("Sustained events/s", true, Load(|row, load| rate(load.calls_per_second() * events(row)))),
    ("Sustained p50 (µs)", true, Load(|_, load| significant(load.service.p50_ns as f64 / 1e3))),
    ("Sustained p99 (µs)", true, Load(|_, load| significant(load.service.p99_ns as f64 / 1e3))),
    ("Sustained p99.9 (µs)", true, Load(|_, load| significant(load.service.p999_ns as f64 / 1e3))),
    ("Worst call (ms)", true, Load(|_, load| significant(load.service.max_ns as f64 / 1e6))),
    ("Share", true, ShareOfRow),
    // Of a floor that is named after these words.
    ("Events/s of", true, Floor(|row, of| whole(events(row) * 1e9 / of.mean_ns.value))),
    ("p50 (ms) of", true, Floor(|_, floor| significant(floor.p50_ns as f64 / 1e6))),
    ("p99 (ms) of", true, Floor(|_, floor| significant(floor.p99_ns as f64 / 1e6))),
    ("× of", false, Floor(|_, floor| with_interval(floor.ratio))),
];

impl Column {
    /// The column that a page describes as `name`, or as `heading = name`. The name of a column of
    /// a floor ends with the floor. `None` if there is no such column.
    pub(super) fn described(text: &str) -> Option<Self> {
        let (heading, name) = text.split_once(" = ").unwrap_or((text, text));
        let (name, floor) = match name.split_once(" of ") {
            Some((figure, floor)) => (format!("{figure} of"), floor),
            None => (name.to_owned(), ""),
        };
        let known = COLUMNS.iter().find(|column| column.0 == name);
        known.map(|&(_, is_number, cell)| Self {
            heading: heading.to_owned(),
            is_number,
            cell,
            floor: floor.to_owned(),
        })
    }

    /// The cell of a row with figures; `None` for the published figures, and for those of a load.
    pub(super) fn of(&self, row: &RowResult, figures: &Figures) -> Option<String> {
        match self.cell {
            Declared(cell) | Own(cell) => Some(cell(row)),
            Figure(cell) => Some(cell(row, figures)),
            Floor(cell) => Some(match figures.floor(&self.floor) {
                Some(floor) => cell(row, floor),
                None => "missing".to_owned(),
            }),
            Published | Load(_) | ShareOfRow => None,
        }
    }
}

/// The operation and the row's variant.
pub(super) fn operation(row: &RowResult) -> String {
    let declared = &row.declared;
    match &declared.variant {
        Some(variant) => format!("{} ({variant})", declared.operation),
        None => declared.operation.clone(),
    }
}

fn events(row: &RowResult) -> f64 {
    row.declared.events as f64
}

fn rate(per_second: f64) -> String {
    if per_second < 100.0 {
        significant(per_second)
    } else {
        whole(per_second)
    }
}

fn first_floor(figures: &Figures) -> String {
    match figures.floors.first() {
        // The other side takes longer, so it is not the least that the work costs.
        Some(floor) if floor.ratio.high < 1.0 => {
            format!("{} {}, a baseline", with_interval(floor.ratio), floor.name)
        }
        Some(floor) => format!("{} {}", with_interval(floor.ratio), floor.name),
        None => "no floor".to_owned(),
    }
}

/// `1.17 (1.11–1.20)`.
pub(super) fn with_interval(ratio: Interval) -> String {
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(significant);
    format!("{value} ({low}–{high})")
}
