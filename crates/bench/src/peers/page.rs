//! The page as Markdown.

use super::PeersRun;
use super::measure::{Figures, Measured, Participant, RowFigures};
use super::questions::question_table;
use super::roster::{ABSENT, Ground};
use crate::report::number::{duration, significant, whole};
use crate::report::{Table, machine_lines};
use crate::result::Interval;

const INTRODUCTION: &str = "\
Each store runs in its own process, with the events, the payload, the callers and the durability of \
the others, and they take turns: A B C, B C A, and so on. A row that ours loses is printed like a row \
that it wins.
";

const READING: &str = "
- **×**: the calls per second of the store divided by those of ours in the same turn, the median over the \
turns with its 95 % interval. Below 1, ours is faster. A store is *faster* or *slower* if the interval \
excludes 1.
- **p50**, **p99**: of single calls.
- **With 256 MB of memory**: a cgroup limits each store's process, cached pages of files included. The log has \
1,000,000 events (4,000 in the smallest form), and a call reads one of its entities at random.
- **†**: in seeded races, the log of this store contradicts its answers. The table *Stores* says what was \
seen; the README of `crates/referee` explains the kinds.
- Ours are dcb-core in a SQLite file, dcb-core on PostgreSQL, message-store on PostgreSQL, and tsdb.
";

const NOT_MEASURED: &str = "
## Larger stores

[growth.md](growth.md) has our stores and tsink on logs of several sizes. Not measured are:

- Reads from a log on a server, or of messages, that does not fit into memory. These logs fit into the page cache
  of the machine.
- Logs of 10 million events: `just peers --form full`. Logs of 100 million: `just peers --growth 100000000`, with
  some 50 GB on disk.
- Other stores of events and messages on larger logs. A million series: `--form full`.
";

/// The page of a run: the questions, then the stores, then the rows.
pub fn markdown(run: &PeersRun) -> String {
    let measured = &run.measured;
    let questions = question_table(measured, |_| true).markdown();
    let mut page = format!("# Stores Beside Their Peers\n\n{INTRODUCTION}\n{questions}{READING}");
    page += &format!("\n## Stores\n\n{}", stores(measured).markdown());
    page += &head(run);
    for ground in Ground::ALL {
        let table = row_table(measured, ground);
        if !table.rows.is_empty() {
            page += &format!("\n## Rows: {}\n\n{}", ground.heading(), table.markdown());
        }
    }
    page + NOT_MEASURED
}

/// A section with the machine, the command and the time of the run.
pub(super) fn head(run: &PeersRun) -> String {
    let mut lines = machine_lines(
        &run.environment,
        run.started,
        &run.command,
        run.profile.clone(),
    );
    let facts = run.facts.iter();
    lines.extend(facts.map(|(name, text)| vec![name.clone(), text.clone()]));
    lines.push(vec![
        "Time of the run".to_owned(),
        run.measured.times.text(),
    ]);
    let head = Table::of_text(&["", "Measured on"], lines).markdown();
    format!("\n## Machine\n\n{head}")
}

/// The figures of a peer in a row, or the words for a peer that has none.
pub(super) fn figures<'a>(row: &'a RowFigures, key: &str) -> Result<&'a Figures, String> {
    if let Some((_, figures)) = row.peers.iter().find(|(peer, _)| *peer == key) {
        let figures = figures.as_ref();
        return figures.map_err(|reason| format!("failed: {reason}"));
    }
    Err(match row.left_out(key) {
        Some(reason) => format!("not measured: {reason}"),
        None => "failed: it did not run".to_owned(),
    })
}

pub(super) fn ratio(figures: &Figures) -> String {
    figures.ratio.map_or_else(
        || "no ratio".to_owned(),
        |ratio| format!("× {} ({})", significant(ratio.value), range(ratio)),
    )
}

fn range(interval: Interval) -> String {
    format!(
        "{}–{}",
        significant(interval.low),
        significant(interval.high)
    )
}

/// The median and the 99th percentile of single calls.
pub(super) fn latencies(figures: &Figures) -> [String; 2] {
    [0.5, 0.99].map(|quantile| duration(figures.latencies.quantile_ns(quantile) as f64))
}

/// Its name, with a mark if the referee saw something.
pub(super) fn marked_name(peer: &Participant) -> Option<String> {
    let name = &peer.hello.as_ref().ok()?.name;
    let is_accused = peer.races.as_ref().is_some_and(|raced| raced.is_accused);
    Some(if is_accused {
        format!("{name} †")
    } else {
        name.clone()
    })
}

/// Every peer, with its durability or the reason why it did not run, and the referee's words.
fn stores(measured: &Measured) -> Table {
    let line = |peer: &Participant| {
        let mut line = vec![peer.ground.heading().to_owned()];
        line.extend(match &peer.hello {
            Ok(hello) => [&hello.name, &hello.version, &hello.durability].map(String::to_owned),
            Err(reason) => [peer.key.clone(), "not measured".to_owned(), reason.clone()],
        });
        let raced = peer.races.as_ref();
        line.push(raced.map_or(String::new(), |raced| raced.text.clone()));
        line
    };
    let headings = [
        "Table",
        "Store",
        "Version",
        "Durability, or why it has no rows",
        "Seen by the referee",
    ];
    let mut lines: Vec<Vec<String>> = measured.participants.iter().map(line).collect();
    lines.extend(ABSENT.map(|(name, reason)| {
        ["none", name, "not measured", reason, ""]
            .map(str::to_owned)
            .to_vec()
    }));
    Table::of_text(&headings, lines)
}

/// One line per row and peer; the first line of a row names its call.
fn row_table(measured: &Measured, ground: Ground) -> Table {
    let mut lines = Vec::new();
    for row in measured.rows.iter().filter(|row| row.ground == ground) {
        let mut is_first = true;
        let participants = measured.participants.iter();
        for peer in participants.filter(|peer| peer.ground == ground) {
            let Some(name) = marked_name(peer) else {
                continue;
            };
            let callers = row.plan.callers.to_string();
            let mut line = match std::mem::take(&mut is_first) {
                true => vec![row.plan.text.clone(), callers, name],
                false => vec![String::new(), String::new(), name],
            };
            match figures(row, &peer.key) {
                Ok(figures) => line.extend(cells(figures)),
                Err(reason) => line.push(reason),
            }
            line.resize(8, String::new());
            lines.push(line);
        }
    }
    let headings = [
        "Call",
        "Callers",
        "Store",
        "Calls/s",
        "× ours (95 %)",
        "p50",
        "p99",
        "Remarks",
    ];
    Table::of_text(&headings, lines)
}

fn cells(figures: &Figures) -> Vec<String> {
    let [p50, p99] = latencies(figures);
    let mut remarks = Vec::new();
    if figures.conflicts > 0 {
        remarks.push(format!("{} conflicts", whole(figures.conflicts as f64)));
    }
    if let Some(calls) = figures.worst_second {
        remarks.push(format!("worst second {}/s", whole(calls as f64)));
    }
    if figures.wrong > 0 {
        remarks.push(format!("**{} wrong results**", whole(figures.wrong as f64)));
    }
    vec![
        whole(figures.rate.value),
        ratio(figures),
        p50,
        p99,
        remarks.join(", "),
    ]
}
