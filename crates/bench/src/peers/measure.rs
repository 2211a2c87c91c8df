//! Starts the peers, and lets them take turns.

use super::build::build;
use super::form::Form;
use super::plan::{RowPlan, rows};
use super::races::{Raced, races};
use super::roster::{Ground, Peer, Place};
use crate::measure::median;
use crate::result::Interval;
use local_postgres::{Database, LocalPostgres};
use peer_protocol::{Answer, Dataset, Hello, Latencies, Run, Session};
use serde::{Deserialize, Serialize};
use sqlx::{Connection as _, PgConnection};
use std::ffi::OsString;
use tempfile::TempDir;

/// Everything that a run found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    /// The peers, whether they ran or not.
    pub participants: Vec<Participant>,
    /// The rows of each ground.
    pub rows: Vec<RowFigures>,
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
    /// The figures of each peer by its key, in the order of the peers, or why it has none.
    pub peers: Vec<(String, Result<Figures, String>)>,
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

/// A peer that runs.
struct Running {
    key: &'static str,
    session: Session,
    /// Removed after the session, which is dropped first.
    _place: Kept,
}

/// Keeps the place of a peer.
enum Kept {
    Nothing,
    Folder { _folder: TempDir },
    Database { database: Database },
}

/// Runs all rows of these peers. `server` makes the PostgreSQL that peers of a database share; the
/// facts of a peer that fails are kept, and the others go on.
pub async fn measure(
    peers: &[Peer],
    form: Form,
    server: &Result<LocalPostgres, String>,
    progress: impl Fn(&str),
) -> Measured {
    let mut measured = Measured {
        participants: Vec::new(),
        rows: Vec::new(),
    };
    for ground in Ground::ALL {
        let mut running = Vec::new();
        for peer in peers.iter().filter(|peer| peer.ground == ground) {
            progress(&format!("{}: build, start and load", peer.key));
            let hello = match start(peer, form, server).await {
                Ok((hello, started)) => {
                    running.push(started);
                    Ok(hello)
                }
                Err(reason) => Err(reason),
            };
            measured.participants.push(Participant {
                key: peer.key.to_owned(),
                ground,
                hello,
                races: None,
            });
        }
        let students = Dataset::new(form.content()).students();
        for plan in rows(ground, students, form.rounds()) {
            progress(&format!(
                "{}: {}, {} callers",
                ground.heading(),
                plan.text,
                plan.callers
            ));
            measured.rows.push(row(ground, plan, form, &mut running));
        }
        for peer in measured
            .participants
            .iter_mut()
            .filter(|peer| peer.ground == ground)
        {
            let running = running.iter_mut().find(|running| running.key == peer.key);
            if let (Some(running), Ok(hello)) = (running, &peer.hello)
                && ground != Ground::Messages
            {
                progress(&format!("{}: races", peer.key));
                peer.races = Some(races(&mut running.session, hello, form));
            }
        }
    }
    measured
}

async fn start(
    peer: &Peer,
    form: Form,
    server: &Result<LocalPostgres, String>,
) -> Result<(Hello, Running), String> {
    let program = build(peer)?;
    let mut arguments: Vec<OsString> = peer.arguments.iter().map(OsString::from).collect();
    let kept = match peer.place {
        Place::Memory => Kept::Nothing,
        Place::Folder => {
            let folder = TempDir::new().map_err(|error| error.to_string())?;
            arguments.push(folder.path().into());
            Kept::Folder { _folder: folder }
        }
        Place::Database | Place::DatabaseWith(_) => {
            if let Place::DatabaseWith(packages) = peer.place {
                arguments.push(packages.folder()?.into());
            }
            let server = server.as_ref().map_err(Clone::clone)?;
            let database = server.create_database("peer").await;
            let database = database.map_err(|error| error.to_string())?;
            arguments.push(database.url().into());
            Kept::Database { database }
        }
    };
    let (mut session, hello) = Session::start(&program, &arguments)?;
    session.prepare(form.content())?;
    if let Kept::Database { database } = &kept {
        update_statistics(database)
            .await
            .map_err(|error| error.to_string())?;
    }
    let running = Running {
        key: peer.key,
        session,
        _place: kept,
    };
    Ok((hello, running))
}

/// Does at once for every store what autovacuum would do a minute after the load.
async fn update_statistics(database: &Database) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(database.url()).await?;
    sqlx::raw_sql("VACUUM ANALYZE")
        .execute(&mut connection)
        .await?;
    connection.close().await
}

/// The turns of one peer in one row.
struct Turns {
    rates: Vec<f64>,
    sum: Figures,
    failed: Option<String>,
}

/// Lets all peers of a ground take turns, in an order that moves by one from round to round.
fn row(ground: Ground, plan: RowPlan, form: Form, running: &mut [Running]) -> RowFigures {
    let run = Run {
        operation: plan.operation,
        callers: plan.callers,
        seconds: match plan.is_sustained {
            true => form.sustained_seconds(),
            false => form.seconds(),
        },
        limit: plan.limit,
    };
    let rounds = if plan.is_sustained { 1 } else { form.rounds() };
    let mut turns: Vec<Turns> = running.iter().map(|_| Turns::default()).collect();
    for round in 0..rounds {
        for turn in 0..running.len() {
            let index = (round + turn) % running.len();
            let answer = running[index].session.run(&run);
            turns[index].take(answer, plan.is_sustained);
        }
    }
    let ours = running
        .iter()
        .position(|peer| Some(peer.key) == ground.ours());
    let ours = ours.filter(|index| turns[*index].failed.is_none());
    let ours = ours.map_or_else(Vec::new, |index| turns[index].rates.clone());
    let peers = running.iter().zip(turns);
    RowFigures {
        ground,
        plan,
        peers: peers
            .map(|(peer, turns)| (peer.key.to_owned(), turns.figures(&ours)))
            .collect(),
    }
}

impl Default for Turns {
    fn default() -> Self {
        let none = Interval {
            value: 0.0,
            low: 0.0,
            high: 0.0,
        };
        Self {
            rates: Vec::new(),
            sum: Figures {
                rate: none,
                ratio: None,
                latencies: Latencies::default(),
                conflicts: 0,
                wrong: 0,
                worst_second: None,
            },
            failed: None,
        }
    }
}

impl Turns {
    fn take(&mut self, answer: Result<Answer, String>, is_sustained: bool) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(reason) => return self.fail(reason),
        };
        if let Some(failure) = answer.failure {
            self.fail(failure);
        }
        // No call of a row is meant to conflict, so one that does has done nothing.
        let done = answer.calls - answer.conflicts;
        if is_sustained {
            // Callers end within the last second, so it is not whole.
            let mut seconds = answer.by_second;
            seconds.resize(answer.seconds as usize, 0);
            self.rates.extend(seconds.iter().map(|calls| *calls as f64));
            self.sum.worst_second = seconds.into_iter().min();
        } else {
            self.rates.push(done as f64 / answer.seconds);
        }
        self.sum.latencies.add(&answer.latencies);
        self.sum.conflicts += answer.conflicts;
        self.sum.wrong += answer.wrong;
    }

    fn fail(&mut self, reason: String) {
        self.failed.get_or_insert(reason);
    }

    fn figures(mut self, ours: &[f64]) -> Result<Figures, String> {
        if let Some(reason) = self.failed {
            return Err(reason);
        }
        self.sum.rate = median(&self.rates);
        let ratios: Vec<f64> = self
            .rates
            .iter()
            .zip(ours)
            .map(|(rate, ours)| rate / ours)
            .collect();
        self.sum.ratio = (!ratios.is_empty()).then(|| median(&ratios));
        Ok(self.sum)
    }
}
