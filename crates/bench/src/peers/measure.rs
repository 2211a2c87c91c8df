//! Starts the peers, and lets them take turns.

use super::build::{Program, build};
use super::form::Form;
use super::growth::{Growth, grow};
use super::plan::{RowPlan, rows, seconds};
use super::races::{Raced, races};
use super::roster::{Ground, PEERS, Peer};
use super::running::start;
use super::scarce::scarce_row;
use super::turns::row;
use crate::result::Interval;
use local_postgres::LocalPostgres;
use peer_protocol::{Dataset, Hello, Latencies};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Everything that a run found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Measured {
    /// The peers, whether they ran or not.
    pub participants: Vec<Participant>,
    /// The rows of each ground.
    pub rows: Vec<RowFigures>,
    /// Our stores on logs of several sizes.
    #[serde(default)]
    pub growth: Vec<Growth>,
    /// The time that each part of the run took.
    #[serde(default)]
    pub times: Times,
}

/// Seconds of a run, by what they were spent on.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Times {
    /// Building the programs.
    pub build: f64,
    /// Starting and filling the stores.
    pub load: f64,
    /// The rows, with the loads of that whose memory is limited.
    pub rows: f64,
    /// The races.
    pub races: f64,
    /// The growth of our stores, with their loads.
    pub growth: f64,
}

/// A peer of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Participant {
    /// Its short name.
    pub key: String,
    /// Its ground.
    pub ground: Ground,
    /// Its first line, or why it did not run.
    pub hello: Result<Hello, String>,
    /// Its races; `None` if it stores no events or did not run.
    pub races: Option<Raced>,
}

/// One row.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RowFigures {
    /// The ground.
    pub ground: Ground,
    /// The calls.
    pub plan: RowPlan,
    /// For how long it was measured.
    #[serde(default)]
    pub seconds: f64,
    /// The figures of each peer by its key, in the order of the peers, or why it has none.
    pub peers: Vec<(String, Result<Figures, String>)>,
    /// The peers that ran and that the row says nothing about, and why. That is no failure.
    #[serde(default)]
    pub left_out: Vec<(String, String)>,
}

/// The figures of one peer in one row.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Figures {
    /// Calls per second without those that ended in a conflict: the median over the turns, with its 95 % interval.
    pub rate: Interval,
    /// The rate divided by ours, turn by turn: the median with its 95 % interval. `None` if ours has no
    /// figures. Above 1, the peer is faster.
    pub ratio: Option<Interval>,
    /// The latencies of all calls of all turns.
    pub latencies: Latencies,
    /// Calls that ended in a conflict.
    pub conflicts: u64,
    /// Results that a right store can't give.
    pub wrong: u64,
    /// The calls of the worst second of a sustained turn.
    pub worst_second: Option<u64>,
}

/// Builds and runs these peers. `server` makes the PostgreSQL that peers of a database share; the
/// facts of a peer that fails are kept, and the others go on.
pub async fn measure(
    peers: &[Peer],
    form: Form,
    server: &Result<LocalPostgres, String>,
    progress: impl Fn(&str),
) -> Measured {
    let mut measured = Measured::default();
    let began = Instant::now();
    progress("building the programs of the stores");
    let programs = build(peers);
    measured.times.build = began.elapsed().as_secs_f64();
    let minutes = seconds(peers, form) / 60.0;
    progress(&format!("built; the run takes about {minutes:.0} min"));
    for ground in Ground::ALL {
        let of_ground = programs.iter().filter(|(peer, _)| peer.ground == ground);
        let of_ground: Vec<_> = of_ground.collect();
        measured
            .ground(ground, &of_ground, form, server, &progress)
            .await;
    }
    let began = Instant::now();
    measured.growth = grow(&programs, form, &[], server, &progress).await;
    measured.times.growth = began.elapsed().as_secs_f64();
    progress(&measured.times.text());
    measured
}

impl RowFigures {
    /// Why the row says nothing about the peer with this key.
    pub(super) fn left_out(&self, key: &str) -> Option<&str> {
        let mut all = self.left_out.iter();
        all.find_map(|(peer, reason)| (peer == key).then_some(reason.as_str()))
    }
}

impl Measured {
    /// Says of each store of ours that did not run, and of each of its rows that failed, why.
    pub fn failures_of_ours(&self) -> Vec<String> {
        let is_ours = |key: &str| PEERS.iter().any(|peer| peer.key == key && peer.is_ours());
        let absent = self.participants.iter().filter_map(|peer| {
            let reason = peer.hello.as_ref().err()?;
            is_ours(&peer.key).then(|| format!("{}: {reason}", peer.key))
        });
        let rows = self.rows.iter().flat_map(|row| {
            let failed = row.peers.iter().filter_map(|(key, figures)| {
                let reason = figures.as_ref().err()?;
                is_ours(key).then(|| format!("{key}: {}: {reason}", row.plan.text))
            });
            failed.collect::<Vec<_>>()
        });
        absent.chain(rows).collect()
    }

    /// Runs all rows and races of the peers of a ground.
    async fn ground(
        &mut self,
        ground: Ground,
        programs: &[&Program],
        form: Form,
        server: &Result<LocalPostgres, String>,
        progress: &impl Fn(&str),
    ) {
        let began = Instant::now();
        let (mut running, first) = (Vec::new(), self.participants.len());
        for (peer, program) in programs {
            progress(&format!("{}: start and load", peer.key));
            let started = match program {
                Ok(program) => start(peer, program, form.content(), server).await,
                Err(reason) => Err(reason.clone()),
            };
            let hello = started.map(|(hello, started)| {
                running.push(started);
                hello
            });
            self.participants.push(Participant {
                key: peer.key.to_owned(),
                ground,
                hello,
                races: None,
            });
        }
        let loaded = Instant::now();
        self.times.load += (loaded - began).as_secs_f64();
        let students = Dataset::new(form.content()).students();
        for plan in rows(ground, students, form.rounds()) {
            let row = match plan.memory_bytes {
                None => row(ground, plan, form, &mut running, ground.ours()),
                Some(bytes) => scarce_row(ground, plan, bytes, form, programs, progress),
            };
            let (text, callers) = (&row.plan.text, row.plan.callers);
            let took = row.seconds;
            progress(&format!(
                "{}: {text}, {callers} callers: {took:.0} s",
                ground.heading()
            ));
            self.rows.push(row);
        }
        let measured = Instant::now();
        self.times.rows += (measured - loaded).as_secs_f64();
        drop(running);
        if ground.has_races() {
            for (peer, (of, program)) in self.participants[first..].iter_mut().zip(programs) {
                if let (Ok(_), Ok(program)) = (&peer.hello, program) {
                    progress(&format!("{}: races", peer.key));
                    peer.races = Some(races(of, program, form, server).await);
                }
            }
        }
        self.times.races += measured.elapsed().as_secs_f64();
    }
}

impl Times {
    /// The times in words.
    pub(super) fn text(self) -> String {
        let parts = [
            ("rows", self.rows),
            ("loads", self.load),
            ("races", self.races),
            ("growth", self.growth),
        ];
        let minutes = |seconds: f64| format!("{:.1} min", seconds / 60.0);
        let sum = parts.iter().map(|(_, seconds)| seconds).sum();
        let parts = parts.map(|(name, seconds)| format!("{name} {}", minutes(seconds)));
        let (sum, build) = (minutes(sum), minutes(self.build));
        format!("{sum} ({}), after {build} of building", parts.join(", "))
    }
}
