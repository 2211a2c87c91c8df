//! The growth of our stores as Markdown.

use super::growth::{Growth, Log};
use super::page::{figures, latencies, ratio};
use crate::report::Table;
use crate::report::number::{bytes, whole};

const READING: &str = "
- A series has 60 samples.
- **×**: the calls per second on this log divided by those on the smallest one, with its 95 % interval. The logs
  take turns.
- **Memory**: the most that the process with the store had during the rows. PostgreSQL's is not in it.
";

/// A section with two tables; empty without growth.
pub fn growth_section(growth: &[Growth]) -> String {
    if growth.is_empty() {
        return String::new();
    }
    let (logs, rows) = (logs(growth).markdown(), rows(growth).markdown());
    format!("\n## Growth\n\n{rows}{READING}\n{logs}")
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
                    Err(reason) => line.push(format!("failed: {reason}")),
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
