use super::number::{duration, significant, whole};
use super::page::Section;
use super::published::{PublishedEntry, PublishedText};
use super::table::Table;
use super::view::View;
use crate::load::{Latencies, LoadFigures};
use crate::result::{Measured, RowResult};
use crate::row::TableId;

/// The variant of rows that call the store directly, with the same calls as a row over HTTP. Their
/// figures appear in the line of the HTTP row.
pub const LIBRARY: &str = "library";

/// A table of loads: one line per load over HTTP, with the library's figures for the same work at
/// the end of the line.
#[derive(Debug, Clone, Copy)]
pub struct LoadTable {
    /// The name under which rows fill it.
    pub id: TableId,
    /// The heading of the dataset column: the kind of store behind the server.
    pub store: &'static str,
    /// The published figures.
    pub published: Option<&'static PublishedText>,
}

/// A line of the table.
struct Entry<'a> {
    row: &'a RowResult,
    library: Option<&'a LoadFigures>,
    published: Option<String>,
}

/// A column: its heading, its alignment, and the function that makes its cells.
struct Column {
    heading: &'static str,
    is_number: bool,
    cell: Cell,
}

enum Cell {
    Declared(fn(&RowResult) -> String),
    Http(fn(&LoadFigures) -> Option<String>),
    Library(fn(&LoadFigures) -> Option<String>),
    Published,
}

impl LoadTable {
    /// The table. Columns that no row fills are left out.
    pub fn table(&self, view: &View<'_>) -> Table {
        let entries = self.entries(view);
        let columns = self.columns();
        let mut shown: Vec<(String, bool)> = Vec::new();
        let mut rows: Vec<Vec<String>> = vec![Vec::new(); entries.len()];
        for column in columns {
            let cells: Vec<Option<String>> =
                entries.iter().map(|entry| column.cell(entry)).collect();
            // The column is empty, such as "from intended" in a table without open schedules.
            if cells.iter().all(Option::is_none) {
                continue;
            }
            shown.push((column.heading.to_owned(), column.is_number));
            for (row, cell) in rows.iter_mut().zip(cells) {
                row.push(cell.unwrap_or_else(|| "-".to_owned()));
            }
        }
        Table {
            columns: shown,
            rows,
        }
    }

    /// The table, the calls of its rows in words, and the first failures.
    pub fn sections(&self, view: &View<'_>) -> Vec<Section> {
        let mut sections = vec![Section::Table(self.table(view))];
        sections.push(Section::Text(format!("Requests:\n\n{}", self.calls(view))));
        let failures = self.failures(view);
        if !failures.is_empty() {
            let text = format!("First failed calls:\n\n{failures}");
            sections.push(Section::Text(text));
        }
        sections
    }

    /// The calls of the rows in words, each text once.
    fn calls(&self, view: &View<'_>) -> String {
        let mut lines: Vec<String> = Vec::new();
        for row in self.rows(view) {
            let text = format!("- **{}**: {}\n", name(row), row.declared.one_op);
            if !lines.contains(&text) {
                lines.push(text);
            }
        }
        lines.concat()
    }

    /// The first failure of each row; empty if no call failed.
    fn failures(&self, view: &View<'_>) -> String {
        let failed = self.rows(view).filter_map(|row| {
            let failure = row.load()?.first_failure.as_ref()?;
            Some(format!("- **{}**: {failure}\n", row.id))
        });
        failed.collect()
    }

    fn rows<'a>(&self, view: &View<'a>) -> impl Iterator<Item = &'a RowResult> + use<'a> {
        view.loads(self.id)
    }

    fn entries<'a>(&self, view: &View<'a>) -> Vec<Entry<'a>> {
        let published: Vec<PublishedEntry> = match self.published {
            Some(published) => published.entries().collect(),
            None => Vec::new(),
        };
        let http = self.rows(view).filter(|row| !is_library(row));
        let lines = http.map(|row| {
            let library = self.rows(view).filter(|other| is_library(other));
            let mut library = library.filter(|other| is_same_work(row, other));
            let printed = published.iter().find(|printed| printed.key.is_of(row));
            Entry {
                row,
                library: library.next().and_then(RowResult::load),
                published: printed.map(|printed| printed.figures.clone()),
            }
        });
        lines.collect()
    }

    fn columns(&self) -> Vec<Column> {
        let declared = |heading, is_number, cell| Column {
            heading,
            is_number,
            cell: Cell::Declared(cell),
        };
        let http = |heading, cell| Column {
            heading,
            is_number: true,
            cell: Cell::Http(cell),
        };
        let library = |heading, cell| Column {
            heading,
            is_number: true,
            cell: Cell::Library(cell),
        };
        vec![
            declared("Operation", false, name),
            declared(self.store, false, |row| row.declared.dataset.clone()),
            declared("Callers", true, |row| row.declared.concurrency.to_string()),
            http("Iterations", |load| Some(whole(load.calls as f64))),
            http("Requests/s", |load| Some(whole(load.calls_per_second()))),
            http("Allowed/s", |load| load.allowed_per_second.map(whole)),
            http("p50", |load| p50(&load.service)),
            http("p99", |load| p99(&load.service)),
            http("p50 from intended", |load| {
                p50(load.from_intended.as_ref()?)
            }),
            http("p99 from intended", |load| {
                p99(load.from_intended.as_ref()?)
            }),
            http("Success", |load| Some(percent(load.success_rate()))),
            http("Refused as expected", |load| {
                (load.refused > 0).then(|| whole(load.refused as f64))
            }),
            http("Failed", |load| Some(whole(load.failed as f64))),
            http("Reads a call", |load| Some(significant(load.cost?.reads))),
            http("Commits a call", |load| {
                Some(significant(load.cost?.commits))
            }),
            http("Allocations a call", |load| {
                Some(whole(load.cost?.allocations))
            }),
            library("Library calls/s", |load| {
                Some(whole(load.calls_per_second()))
            }),
            library("Library p50", |load| p50(load.latency())),
            library("Library p99", |load| p99(load.latency())),
            Column {
                heading: self
                    .published
                    .map_or("Published", |published| published.machine),
                is_number: false,
                cell: Cell::Published,
            },
        ]
    }
}

impl Column {
    fn cell(&self, entry: &Entry<'_>) -> Option<String> {
        match (&self.cell, &entry.row.measured) {
            (Cell::Declared(cell), _) => Some(cell(entry.row)),
            (Cell::Published, _) => entry.published.clone(),
            (Cell::Library(cell), _) => cell(entry.library?),
            (Cell::Http(cell), Measured::Load(load)) => cell(load),
            // The reason appears once, in the first column of figures.
            (Cell::Http(_), Measured::Not { reason }) if self.heading == "Iterations" => {
                Some(format!("not measured: {reason}"))
            }
            (Cell::Http(_), _) => None,
        }
    }
}

fn name(row: &RowResult) -> String {
    let declared = &row.declared;
    match declared.variant.as_deref() {
        None | Some(LIBRARY) => declared.operation.clone(),
        Some(variant) => format!("{} ({variant})", declared.operation),
    }
}

fn is_library(row: &RowResult) -> bool {
    row.declared.variant.as_deref() == Some(LIBRARY)
}

fn is_same_work(row: &RowResult, other: &RowResult) -> bool {
    let (row, other) = (&row.declared, &other.declared);
    row.operation == other.operation
        && row.dataset == other.dataset
        && row.concurrency == other.concurrency
        && row.events == other.events
}

fn p50(latencies: &Latencies) -> Option<String> {
    Some(duration(latencies.p50_ns as f64))
}

fn p99(latencies: &Latencies) -> Option<String> {
    Some(duration(latencies.p99_ns as f64))
}

/// Rounded down, so that a share below 1 never shows as 100 %.
fn percent(share: f64) -> String {
    format!("{:.2} %", (share * 10_000.0).floor() / 100.0)
}
