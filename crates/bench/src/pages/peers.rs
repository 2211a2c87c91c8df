//! The time-series engine beside other databases: `reports/peers.md`.

use crate::report::number::{significant, whole};
use crate::report::{Page, Section, Table, View, goals_table};
use crate::result::{Figures, FloorFigures, Interval, Measured, RowResult};
use crate::row::{Reading, TableId};

/// Queries over HTTP.
pub const QUERIES: TableId = TableId("peers_queries");
/// Remote writes.
pub const WRITES: TableId = TableId("peers_writes");

/// The peers, named as the floors of the rows.
pub const PEERS: [&str; 2] = ["Prometheus", "VictoriaMetrics"];

/// The page.
pub const PAGE: Page = Page {
    slug: "peers",
    title: "The Time-Series Engine Beside Its Peers",
    targets: &["peers"],
    body,
};

const TEXT: &str = "\
The demo server, Prometheus and VictoriaMetrics run as separate processes on this machine, hold the \
same samples and answer the same requests over HTTP, one caller, in turns. All have the settings of \
their packages, except for those in the head of this page. A row that is lost is printed like a row \
that is won. The peers are Debian's packages, not their latest versions.

- **p50**, **p99**: of single calls, in ms. With fewer than a hundred calls, p99 is the slowest call.
- **× peer**: the time of this server divided by the peer's, the median over the samples with its 95 % \
interval. Below 1, this server is faster.";

const QUERIES_TEXT: &str = "\
Range queries span three hours, in steps of 15 s. VictoriaMetrics is asked with `nocache=1`, because its \
cache of answers would answer all but the first call.";

const WRITES_TEXT: &str = "\
A call sends one remote write request with samples that are newer than all before. What an answer means \
differs:

- this server has handed the samples to the operating system, and syncs them to disk within a second \
(`--series-durability periodic`, the default). A killed process loses none of them;
- Prometheus has handed them to the operating system, and syncs when it closes a file of its log;
- VictoriaMetrics has them in memory, and writes them to files every second. A killed process loses those \
of the last second.";

fn body(view: &View<'_>) -> Vec<Section> {
    let heading = |text: &str| Section::Heading(2, text.to_owned());
    let mut page = vec![Section::Text(TEXT.to_owned())];
    for (title, text, id) in [
        ("Queries", QUERIES_TEXT, QUERIES),
        ("Writes", WRITES_TEXT, WRITES),
    ] {
        page.push(heading(title));
        page.push(Section::Text(text.to_owned()));
        page.push(Section::Table(table(view, id)));
        page.push(Section::Text(ops(view, id)));
    }
    page.push(heading("Goals"));
    page.push(Section::Table(goals_table(view)));
    page
}

fn rows<'a>(view: &View<'a>, id: TableId) -> impl Iterator<Item = &'a RowResult> + use<'a> {
    view.table(id, Reading::OnTheDataset)
}

/// The calls of the rows in words.
fn ops(view: &View<'_>, id: TableId) -> String {
    let lines = rows(view, id).map(|row| {
        let declared = &row.declared;
        format!("- **{}**: {}\n", declared.operation, declared.one_op)
    });
    format!("Calls:\n\n{}", lines.collect::<String>())
}

fn table(view: &View<'_>, id: TableId) -> Table {
    let writes = id == WRITES;
    let mut columns = vec![("Row".to_owned(), false), ("Data".to_owned(), false)];
    for name in std::iter::once("This server").chain(PEERS) {
        if writes {
            columns.push((format!("{name}, samples/s"), true));
        }
        columns.push((format!("{name}, p50 (ms)"), true));
        columns.push(("p99 (ms)".to_owned(), true));
    }
    columns.extend(PEERS.map(|peer| (format!("× {peer}"), false)));
    Table {
        columns,
        rows: rows(view, id).map(|row| cells(row, writes)).collect(),
    }
}

fn cells(row: &RowResult, writes: bool) -> Vec<String> {
    let declared = &row.declared;
    let mut cells = vec![declared.operation.clone(), declared.dataset.clone()];
    let figures = match &row.measured {
        Measured::Figures(figures) => figures,
        Measured::Load(_) => return cells,
        Measured::Not { reason } => {
            cells.push(format!("not measured: {reason}"));
            return cells;
        }
    };
    let samples = writes.then_some(declared.events);
    let peers = PEERS.map(|peer| figures.floor(peer));
    cells.extend(Times::of_row(figures).cells(samples));
    for peer in peers {
        match peer {
            Some(peer) => cells.extend(Times::of_peer(peer).cells(samples)),
            None => cells.extend(vec![MISSING.to_owned(); if writes { 3 } else { 2 }]),
        }
    }
    cells.extend(peers.map(|peer| peer.map_or(MISSING.to_owned(), |peer| interval(peer.ratio))));
    cells
}

/// The cell of a peer that is not installed; the head of the page says so too.
const MISSING: &str = "missing";

/// The times of one side of a row.
struct Times {
    mean_ns: f64,
    p50_ns: u64,
    p99_ns: u64,
}

impl Times {
    fn of_row(row: &Figures) -> Self {
        Self {
            mean_ns: row.mean_ns.value,
            p50_ns: row.p50_ns,
            p99_ns: row.p99_ns,
        }
    }

    fn of_peer(peer: &FloorFigures) -> Self {
        Self {
            mean_ns: peer.mean_ns.value,
            p50_ns: peer.p50_ns,
            p99_ns: peer.p99_ns,
        }
    }

    /// The rate, if a call has this many samples, and the times of a call.
    fn cells(&self, samples: Option<u64>) -> impl Iterator<Item = String> + use<> {
        let rate = samples.map(|samples| whole(samples as f64 * 1e9 / self.mean_ns));
        let times = [self.p50_ns, self.p99_ns].map(|ns| significant(ns as f64 / 1e6));
        rate.into_iter().chain(times)
    }
}

fn interval(ratio: Interval) -> String {
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(significant);
    format!("{value} ({low}–{high})")
}
