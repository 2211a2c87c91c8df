use super::number::{duration, significant, whole};
use super::page::Section;
use super::published::PublishedTable;
use super::table::Table;
use super::view::View;
use crate::load::{Latencies, LoadFigures};
use crate::result::{Measured, RowResult};

/// The variant of rows that call the store directly, with the same calls as a row over HTTP. Their
/// figures appear in the line of the HTTP row.
pub const LIBRARY: &str = "library";

/// A table of loads: one line per load over HTTP, with the library's figures for the same work at
/// the end of the line.
pub(super) struct LoadTable<'a> {
    /// The name under which rows fill it.
    pub(super) name: &'a str,
    /// The heading of the dataset column: the kind of store behind the server.
    pub(super) store: &'a str,
    /// The published figures.
    pub(super) published: Option<&'a PublishedTable>,
}

/// A line of the table.
struct Entry<'a> {
    row: &'a RowResult,
    library: Option<&'a LoadFigures>,
    published: Option<String>,
}

/// A column: its heading, whether its cells are numbers, and the function that makes them.
type Column<'a> = (&'a str, bool, Cell);

enum Cell {
    Declared(fn(&RowResult) -> String),
    Http(fn(&LoadFigures) -> Option<String>),
    Library(fn(&LoadFigures) -> Option<String>),
    Published,
}

impl LoadTable<'_> {
    /// The table. Columns that no row fills are left out.
    fn table(&self, view: &View<'_>) -> Table {
        let entries = self.entries(view);
        let mut columns: Vec<(String, bool)> = Vec::new();
        let mut rows: Vec<Vec<String>> = vec![Vec::new(); entries.len()];
        for column in self.columns() {
            let cells = entries.iter().map(|entry| cell(&column, entry));
            let cells: Vec<Option<String>> = cells.collect();
            // The column is empty, such as "from intended" in a table without open schedules.
            if cells.iter().all(Option::is_none) {
                continue;
            }
            let heading = match (&column.2, self.published) {
                (Cell::Published, Some(table)) => format!("{} ({})", column.0, table.machine),
                _ => column.0.to_owned(),
            };
            columns.push((heading, column.1));
            for (row, cell) in rows.iter_mut().zip(cells) {
                row.push(cell.unwrap_or_else(|| "-".to_owned()));
            }
        }
        Table { columns, rows }
    }

    /// The table, the calls of its rows in words, and the first failures.
    pub(super) fn sections(&self, view: &View<'_>) -> Vec<Section> {
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

    fn rows<'a>(&self, view: &View<'a>) -> impl Iterator<Item = &'a RowResult> {
        view.filling(self.name)
    }

    fn entries<'a>(&self, view: &View<'a>) -> Vec<Entry<'a>> {
        let http = self.rows(view).filter(|row| !is_library(row));
        let lines = http.map(|row| {
            let library = self.rows(view).filter(|other| is_library(other));
            let mut library = library.filter(|other| is_same_work(row, other));
            let published = self.published.and_then(|table| {
                let printed = table.rows.iter().find(|printed| printed.is_of(row));
                printed.map(|printed| table.cell(printed))
            });
            Entry {
                row,
                library: library.next().and_then(RowResult::load),
                published,
            }
        });
        lines.collect()
    }

    #[rustfmt::skip] // One column per line.
    fn columns(&self) -> [Column<'_>; 20] {
        use Cell::{Declared, Http, Library, Published};
        let dataset = Declared(|row| row.declared.dataset.clone());
        [
            ("Operation", false, Declared(name)),
            (self.store, false, dataset),
            ("Callers", true, Declared(|row| row.declared.concurrency.to_string())),
            (ITERATIONS, true, Http(|load| Some(whole(load.calls as f64)))),
            ("Requests/s", true, Http(|load| Some(whole(load.calls_per_second())))),
            ("Allowed/s", true, Http(|load| load.allowed_per_second.map(whole))),
            ("p50", true, Http(|load| p50(&load.service))),
            ("p99", true, Http(|load| p99(&load.service))),
            ("p50 from intended", true, Http(|load| p50(load.from_intended.as_ref()?))),
            ("p99 from intended", true, Http(|load| p99(load.from_intended.as_ref()?))),
            ("Success", true, Http(|load| Some(percent(load.success_rate())))),
            ("Refused as expected", true, Http(|load| count(load.refused))),
            ("Failed", true, Http(|load| Some(whole(load.failed as f64)))),
            ("Reads a call", true, Http(|load| Some(significant(load.cost?.reads)))),
            ("Commits a call", true, Http(|load| Some(significant(load.cost?.commits)))),
            ("Allocations a call", true, Http(|load| Some(whole(load.cost?.allocations)))),
            ("Library calls/s", true, Library(|load| Some(whole(load.calls_per_second())))),
            ("Library p50", true, Library(|load| p50(load.latency()))),
            ("Library p99", true, Library(|load| p99(load.latency()))),
            ("Published", false, Published),
        ]
    }
}

/// The first column of figures. It has the reason if a row was not measured.
const ITERATIONS: &str = "Iterations";

fn cell((heading, _, cell): &Column<'_>, entry: &Entry<'_>) -> Option<String> {
    match (cell, &entry.row.measured) {
        (Cell::Declared(cell), _) => Some(cell(entry.row)),
        (Cell::Published, _) => entry.published.clone(),
        (Cell::Library(cell), _) => cell(entry.library?),
        (Cell::Http(cell), Measured::Load(load)) => cell(load),
        (Cell::Http(_), Measured::Not { reason }) if *heading == ITERATIONS => {
            Some(format!("not measured: {reason}"))
        }
        (Cell::Http(_), _) => None,
    }
}

/// The number, unless it is 0.
fn count(calls: u64) -> Option<String> {
    (calls > 0).then(|| whole(calls as f64))
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
