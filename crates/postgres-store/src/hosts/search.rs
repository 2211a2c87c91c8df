//! The search for a host.
//!
//! The search begins at the host that was found last. If that host does not answer at once, the search
//! asks the others as well, and the first host that suits wins. So a dead host costs a moment, and a
//! silent one does not hold up the search.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::Hosts;
use super::attempts::Attempt;
use super::wanted::{Role, Suits, Wanted};
use crate::connect::to_host;
use crate::connect_error::{ConnectError, HostError};
use crate::sign_of_life::OPENING;

/// How long the search waits for a host before it asks the next one as well.
const HEAD_START: Duration = Duration::from_millis(250);
/// How long the search waits for the other hosts once one has said that it does not suit. The role of
/// that host may change in the meantime.
const SILENT: Duration = Duration::from_secs(1);

/// A connection to a host.
pub(crate) struct Found {
    pub(crate) connection: PgConnection,
    /// The index of the host.
    pub(crate) host: usize,
}

/// The answer of a host.
struct Asked {
    host: usize,
    answer: Result<(PgConnection, Suits), HostError>,
}

struct Search<'a> {
    hosts: &'a Hosts,
    running: JoinSet<Asked>,
    begun: Instant,
    end: Instant,
    /// The host to take if no other suits better.
    spare: Option<Found>,
    wrong: Vec<(usize, HostError)>,
}

/// Opens a connection to a host that suits.
///
/// # Errors
/// The failure of each host. If the hosts fail fast, the last failure at once, until an attempt succeeds.
pub(crate) async fn find(hosts: &Hosts) -> Result<Found, ConnectError> {
    if hosts.fails_fast
        && let Some(outage) = hosts.attempts.outage()
    {
        if let Some(probe) = Attempt::probe(hosts) {
            let hosts = hosts.clone();
            tokio::spawn(async move { attempt(&hosts, probe).await.map(drop) });
        }
        return Err(outage);
    }
    attempt(hosts, Attempt::begin(hosts)).await
}

async fn attempt(hosts: &Hosts, attempt: Attempt) -> Result<Found, ConnectError> {
    let found = search(hosts).await;
    attempt.end(found.as_ref().err());
    found
}

async fn search(hosts: &Hosts) -> Result<Found, ConnectError> {
    let begun = Instant::now();
    let mut search = Search {
        hosts,
        running: JoinSet::new(),
        begun,
        end: begun + OPENING,
        spare: None,
        wrong: Vec::new(),
    };
    let found = search.run().await.or_else(|| search.spare.take());
    let found = found.ok_or_else(|| search.error())?;
    hosts.last.store(found.host, Ordering::Relaxed);
    Ok(found)
}

impl Search<'_> {
    /// Asks the hosts one after the other. `None` if none suits best.
    async fn run(&mut self) -> Option<Found> {
        for host in self.hosts.in_turn() {
            self.running.spawn(ask(self.hosts.clone(), host));
            if let Some(found) = self.wait_until(Instant::now() + HEAD_START).await {
                return Some(found);
            }
        }
        while !self.running.is_empty() && Instant::now() < self.end {
            if let Some(found) = self.wait_until(self.end).await {
                return Some(found);
            }
        }
        None
    }

    /// Waits for one answer.
    async fn wait_until(&mut self, end: Instant) -> Option<Found> {
        let asked = timeout_at(end, self.running.join_next()).await.ok()??;
        let Asked { host, answer } = asked.ok()?;
        match answer {
            Ok((connection, Suits::Best)) => return Some(Found { connection, host }),
            Ok((connection, Suits::IfNoOther)) => self.spare = Some(Found { connection, host }),
            Ok((_, Suits::Not(role))) => {
                let role = HostError::role(&self.hosts.each[host], role);
                self.wrong.push((host, role));
            }
            Err(failed) => {
                self.wrong.push((host, failed));
                return None;
            }
        }
        self.end = self.end.min(Instant::now() + SILENT);
        None
    }

    fn error(&mut self) -> ConnectError {
        let each = self.hosts.each.iter().enumerate();
        let wrong = each.map(|(host, options)| {
            let wrong = self.wrong.iter().find(|(wrong, _)| *wrong == host);
            let wrong = wrong.map(|(_, wrong)| wrong.clone());
            wrong.unwrap_or_else(|| HostError::silent(options, self.begun.elapsed()))
        });
        ConnectError::new(self.hosts.wanted.kind(), wrong.collect())
    }
}

async fn ask(hosts: Hosts, host: usize) -> Asked {
    let options = &hosts.each[host];
    let asking = async {
        let mut connection = to_host(options).await?;
        let suits = match hosts.wanted {
            Wanted::Any => Suits::Best,
            wanted => {
                let role = Role::of(&mut connection).await;
                wanted.suits(role.map_err(|failed| HostError::new(options, failed))?)
            }
        };
        Ok((connection, suits))
    };
    let answer = timeout(OPENING, asking).await;
    let answer = answer.unwrap_or_else(|_| Err(HostError::silent(options, OPENING)));
    Asked { host, answer }
}
