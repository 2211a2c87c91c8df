//! The growth of stores as Markdown.

use super::PeersRun;
use super::growth::{Growth, Log};
use super::page::{figures, head, latencies, ratio};
use crate::report::Table;
use crate::report::number::{bytes, whole};

const INTRODUCTION: &str = "\
Each store runs the same calls on a small log and on larger ones, which take turns. \
[peers.md](peers.md) has its rows beside other stores.
";

const READING: &str = "
- A series has 60 samples.
- **×**: the calls per second on this log divided by those on the smallest one, with its 95 % interval. The logs
  take turns.
- **Memory**: the most that the process with the store had during the rows. PostgreSQL's is not in it.
";

/// The page of a run.
pub fn growth_page(run: &PeersRun) -> String {
    let (tables, head) = (growth_tables(&run.measured.growth), head(run));
    format!("# Stores as They Grow\n\n{INTRODUCTION}\n{tables}{head}")
}

/// Two tables: the rows, and the logs.
pub fn growth_tables(growth: &[Growth]) -> String {
    let (logs, rows) = (logs(growth).markdown(), rows(growth).markdown());
    format!("{rows}{READING}\n{logs}")
}

/// One line per store, row and log.
fn rows(growth: &[Growth]) -> Table {
    let mut lines = Vec::new();
    for growth in growth {
        for row in &growth.rows {
            for log in &growth.logs {
                let is_first = log.events == growth.logs[0].events;
                let mut line = match is_first {
                    true => vec![
                        growth.store.clone(),
                        row.plan.text.clone(),
                        row.plan.callers.to_string(),
                    ],
                    false => vec![String::new(); 3],
                };
                line.push(whole(log.events as f64));
                match figures(row, &log.events.to_string()) {
                    Ok(figures) => {
                        line.extend([whole(figures.rate.value), ratio(figures)]);
                        line.extend(latencies(figures));
                    }
                    Err(reason) => line.push(reason),
                }
                line.resize(8, String::new());
                lines.push(line);
            }
        }
    }
    let headings = [
        "Store",
        "Call",
        "Callers",
        "Events, messages or series",
        "Calls/s",
        "× smallest (95 %)",
        "p50",
        "p99",
    ];
    Table::of_text(&headings, lines)
}

/// One line per log.
fn logs(growth: &[Growth]) -> Table {
    let line = |store: &str, log: &Log| {
        let load = match &log.load {
            Ok(seconds) => format!("{}/s", whole(log.events as f64 / seconds)),
            Err(reason) => format!("failed: {reason}"),
        };
        let memory = log
            .peak_bytes
            .map_or_else(|| "not known".to_owned(), |peak| bytes(peak as f64));
        vec![store.to_owned(), whole(log.events as f64), load, memory]
    };
    let lines = growth.iter().flat_map(|growth| {
        let logs = growth.logs.iter();
        logs.map(|log| line(&growth.store, log))
    });
    let headings = ["Store", "Events, messages or series", "Filled at", "Memory"];
    Table::of_text(&headings, lines.collect())
}
