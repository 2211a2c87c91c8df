//! The parts of the page of the event store on a local PostgreSQL.

use crate::report::number::{significant, whole};
use crate::report::{Published, Section, Table, View, calls_range, concurrency_gain, memory_range};
use crate::result::{Measured, RowResult};
use crate::row::Reading;

/// The tables in ns and bytes, and the events of a call in their first rows.
const TABLES: [(&str, u64); 4] = [
    ("append", 1),
    ("append_if", 1),
    ("project", 100),
    ("query", 100),
];
const DATASETS: usize = 3;

/// One caller of each operation, on the local server and in Docker, for both readings. Without Docker,
/// the reason: the local figures stand in the tables below.
pub(super) fn comparison(view: &View<'_>, published: &Published) -> Vec<Section> {
    let in_docker = |row: &&RowResult| row.declared.server.as_deref() == Some("Docker");
    let mut docker = view.filling("comparison").filter(in_docker);
    if docker.all(|row| row.figures().is_none()) {
        let first = view.filling("comparison").find(in_docker);
        let reason = rate(first);
        return vec![Section::Text(format!("In Docker: {reason}"))];
    }
    let readings = [
        ("As in the seed", Reading::AsInTheSeed),
        ("On the dataset", Reading::OnTheDataset),
    ];
    let sections = readings.into_iter().flat_map(|(title, reading)| {
        [
            Section::Text(format!("#### {title}")),
            Section::Table(compared(view, published, reading)),
        ]
    });
    sections.collect()
}

fn compared(view: &View<'_>, published: &Published, reading: Reading) -> Table {
    let tables = TABLES.iter().filter_map(|(name, _)| published.get(*name));
    let machine = tables.clone().next().map_or("", |table| &table.machine);
    let machine = format!("Published, local ({machine})");
    let headings = [
        "Operation",
        "Dataset",
        "Concurrency",
        "Local PostgreSQL",
        "Docker PostgreSQL",
        "Performance Gain",
        &machine,
    ];
    // The first published rows of a table have one caller.
    let rows = tables.flat_map(|table| table.rows.iter().take(DATASETS));
    let lines = rows.map(|printed| {
        let on = |server: Option<&str>| {
            view.table("comparison", reading)
                .find(|row| printed.is_of(row) && row.declared.server.as_deref() == server)
        };
        let (local, docker) = (on(None), on(Some("Docker")));
        vec![
            printed.0.replace("AppendIf", "AppendIf No Conflict"),
            printed.1.clone(),
            "1".to_owned(),
            rate(local),
            rate(docker),
            gain(local, docker),
            whole(printed.number(0)) + " ops/sec",
        ]
    });
    Table::of_text(&headings, lines.collect())
}

fn rate(row: Option<&RowResult>) -> String {
    match row.map(|row| &row.measured) {
        Some(Measured::Figures(figures)) => whole(figures.calls_per_second) + " ops/sec",
        Some(Measured::Load(load)) => whole(load.calls_per_second()) + " calls/s",
        Some(Measured::Not { reason }) => format!("not measured: {reason}"),
        None => "not measured: no benchmark has this row".to_owned(),
    }
}

fn gain(local: Option<&RowResult>, docker: Option<&RowResult>) -> String {
    let rate = |row: Option<&RowResult>| Some(row?.figures()?.calls_per_second);
    match (rate(local), rate(docker)) {
        (Some(local), Some(docker)) => significant(local / docker) + "x",
        _ => "not known: one side was not measured".to_owned(),
    }
}

/// The published page's list of insights, computed from this run.
pub(super) fn insights(view: &View<'_>, _: &Published) -> Vec<Section> {
    let tables = TABLES.map(|(table, events)| {
        let rows: Vec<_> = view.table(table, Reading::AsInTheSeed).collect();
        (rows, events)
    });
    let ranges = tables
        .iter()
        .map(|(rows, events)| calls_range(rows, 1, *events));
    let gains = tables
        .iter()
        .map(|(rows, events)| concurrency_gain(rows, 100, *events));
    let memory = tables
        .iter()
        .map(|(rows, events)| memory_range(rows, 1, *events));
    let lines = ranges.chain(gains).chain(memory).flatten();
    vec![Section::Text(
        lines.map(|line| format!("- {line}\n")).collect(),
    )]
}
