//! The search for a host.
//!
//! The search begins at the host that was found last. If that host does not answer at once, the search
//! asks the others as well, and the first host that suits wins. So a dead host costs a moment, and a
//! silent one does not hold up the search.

use std::fmt::{self, Write as _};
use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sqlx::Error;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use super::Hosts;
use super::wanted::{Role, Suits, Wanted};
use crate::connect::{may_pass, to_host};
use crate::failure::{Failure, failure};
use crate::sign_of_life::OPENING;
use crate::statement::no_answer;

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
    answer: Result<(PgConnection, Suits), Error>,
}

/// Why a host does not serve.
enum Wrong {
    /// The role of the host.
    Role(&'static str),
    Failed(Error),
}

struct Search<'a> {
    hosts: &'a Hosts,
    running: JoinSet<Asked>,
    end: Instant,
    /// The host to take if no other suits better.
    spare: Option<Found>,
    wrong: Vec<(usize, Wrong)>,
}

/// Opens a connection to a host that suits.
///
/// # Errors
/// The driver's error if there is one host, or if each host refuses for good. Otherwise an error that
/// counts as a refused connection, and that says what is wrong with each host.
pub(crate) async fn find(hosts: &Hosts) -> Result<Found, Error> {
    if let Some(only) = hosts.only_one() {
        let connection = to_host(only).await?;
        return Ok(Found {
            connection,
            host: 0,
        });
    }
    let mut search = Search {
        hosts,
        running: JoinSet::new(),
        end: Instant::now() + OPENING,
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
            Ok((_, Suits::Not(role))) => self.wrong.push((host, Wrong::Role(role))),
            Err(failed) => {
                self.wrong.push((host, Wrong::Failed(failed)));
                return None;
            }
        }
        self.end = self.end.min(Instant::now() + SILENT);
        None
    }

    fn error(&mut self) -> Error {
        let hosts = self.hosts.each.len();
        let is_final = |(_, wrong): &(usize, Wrong)| wrong.is_final();
        let are_final = self.wrong.len() == hosts && self.wrong.iter().all(is_final);
        if hosts == 1 || are_final {
            let failed = self.wrong.iter().position(|(_, wrong)| wrong.is_failure());
            if let Some((_, Wrong::Failed(failed))) = failed.map(|at| self.wrong.swap_remove(at)) {
                return failed;
            }
        }
        std::io::Error::new(ErrorKind::ConnectionRefused, self.reasons()).into()
    }

    /// The fault of each host, as one text.
    fn reasons(&self) -> String {
        let mut text = format!("no {}", self.hosts.wanted.kind());
        for (host, options) in self.hosts.each.iter().enumerate() {
            let mark = if host == 0 { ':' } else { ';' };
            let wrong = self.wrong.iter().find(|(wrong, _)| *wrong == host);
            let _ = match wrong {
                Some((_, wrong)) => write!(text, "{mark} {}{wrong}", name(options)),
                None => write!(text, "{mark} {}: no answer in time", name(options)),
            };
        }
        text
    }
}

async fn ask(hosts: Hosts, host: usize) -> Asked {
    let asking = async {
        let mut connection = to_host(&hosts.each[host]).await?;
        let suits = match hosts.wanted {
            Wanted::Any => Suits::Best,
            wanted => wanted.suits(Role::of(&mut connection).await?),
        };
        Ok((connection, suits))
    };
    let answer = timeout(OPENING, asking).await;
    let answer = answer.unwrap_or_else(|_| Err(no_answer()));
    Asked { host, answer }
}

impl Wrong {
    fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_))
    }

    /// Whether the host would refuse the next connection too.
    fn is_final(&self) -> bool {
        match self {
            Self::Role(_) => false,
            Self::Failed(failed) => failure(failed) != Failure::Lost && !may_pass(failed),
        }
    }
}

/// Follows the name of a host.
impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Role(role) => write!(f, " {role}"),
            Self::Failed(Error::Io(failed)) => write!(f, ": {failed}"),
            Self::Failed(failed) => write!(f, ": {failed}"),
        }
    }
}

/// The name of a host, for messages.
pub(super) fn name(options: &PgConnectOptions) -> String {
    let host = options.get_host();
    match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None if host.contains(':') => format!("[{host}]:{}", options.get_port()),
        None => format!("{host}:{}", options.get_port()),
    }
}
