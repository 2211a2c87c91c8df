//! One store on logs of several sizes, which take turns.

use super::build::Program;
use super::form::Form;
use super::measure::RowFigures;
use super::plan::growth_rows;
use super::roster::Peer;
use super::running::start;
use super::turns::row;
use local_postgres::LocalPostgres;
use peer_protocol::{ContentSize, Dataset};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Instant;

/// A store of ours on logs of several sizes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Growth {
    /// The store.
    pub store: String,
    /// The logs, the smallest first.
    pub logs: Vec<Log>,
    /// The rows. Their peers are the logs, by their number of events. Ratios compare with the smallest.
    pub rows: Vec<RowFigures>,
}

/// A log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Log {
    /// Its events or messages before the first row.
    pub events: usize,
    /// Seconds of the load, or why it failed.
    pub load: Result<f64, String>,
    /// The most memory that the process with the store had during the rows, in bytes. `None` where the
    /// system does not tell.
    pub peak_bytes: Option<u64>,
}

/// Measures those of the stores that are ours on logs of these sizes, without sizes on those of the form.
/// A store that is not built is left out.
pub async fn grow(
    programs: &[Program],
    form: Form,
    sizes: &[usize],
    server: &Result<LocalPostgres, String>,
    progress: impl Fn(&str),
) -> Vec<Growth> {
    let mut grown = Vec::new();
    for (peer, program) in programs.iter().filter(|(peer, _)| peer.grows) {
        progress(&format!("{}: growth", peer.key));
        let sizes = match sizes {
            [] => form.sizes(peer.ground),
            sizes => sizes,
        };
        if let Ok(program) = program {
            grown.push(growth(peer, program, form, sizes, server).await);
        }
    }
    grown
}

async fn growth(
    peer: &Peer,
    program: &Path,
    form: Form,
    sizes: &[usize],
    server: &Result<LocalPostgres, String>,
) -> Growth {
    let mut growth = Growth {
        store: peer.key.to_owned(),
        logs: Vec::new(),
        rows: Vec::new(),
    };
    let mut running = Vec::new();
    for &events in sizes {
        let content = ContentSize {
            events,
            ..form.content()
        };
        let began = Instant::now();
        let started = start(peer, program, content, server).await;
        let load = started.map(|(hello, mut started)| {
            growth.store = hello.name;
            started.key = events.to_string();
            // The load is over; the rows show what the store itself holds.
            started.session.forget_peak();
            running.push(started);
            began.elapsed().as_secs_f64()
        });
        growth.logs.push(Log {
            events,
            load,
            peak_bytes: None,
        });
    }
    let smallest = sizes[0].to_string();
    let students = Dataset::new(ContentSize {
        events: sizes[0],
        ..form.content()
    });
    for plan in growth_rows(peer.ground, students.students(), form.rounds()) {
        let measured = row(peer.ground, plan, form, &mut running, Some(&smallest));
        growth.rows.push(measured);
    }
    for log in &mut growth.logs {
        let key = log.events.to_string();
        let running = running.iter().find(|running| running.key == key);
        log.peak_bytes = running.and_then(|running| running.session.peak_bytes());
    }
    growth
}
