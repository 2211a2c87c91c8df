//! The server behind a URL, and the settings under which a store's statements run there.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, SqlSafeStr as _, SqlStr};
use tokio::time::Instant;

use crate::hosts::Hosts;
use crate::sign_of_life::OF_SERVER;
use crate::statement::LONGEST;

/// Begins a transaction whose statements each see everything that was committed before them,
/// under any default isolation of the database or the role.
pub const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// The planner plans each statement once, and uses the indexes that the statement is written for.
/// In a young store, which has no statistics yet, it would choose other plans.
const PLANNING: [(&str, &str); 7] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("max_parallel_workers_per_gather", "0"),
    ("jit", "off"),
];

/// The server that a URL leads to, directly or through a pooler in transaction mode. Such a pooler
/// gives the server's session to another client after each transaction.
#[derive(Clone)]
pub struct Server {
    hosts: Hosts,
    transaction_pooling: bool,
}

/// How statements of one kind run.
#[derive(Clone)]
pub struct SessionSettings {
    /// The hosts of connections, with their options.
    pub hosts: Hosts,
    /// Behind a pooler, the statement that begins a transaction with the session's settings.
    /// Without a pooler `None`, because the connection has the settings.
    pub begin: Option<SqlStr>,
    /// The time limit of a statement.
    pub limit: Duration,
}

impl Server {
    /// Parses the URL of the server that takes writes. Connections lead to the host that takes writes, and
    /// to no standby, even if that is the only host. The server shows `application_name` in its list of
    /// sessions.
    ///
    /// # Errors
    /// A text that says how the URL is malformed.
    pub fn new(
        url: &str,
        application_name: &str,
        transaction_pooling: bool,
    ) -> Result<Self, String> {
        let server = Self::parse(url, application_name, transaction_pooling)?;
        let hosts = server.hosts.for_writes()?;
        Ok(Self { hosts, ..server })
    }

    /// Parses the URL of servers for reads: one for each of its hosts.
    ///
    /// # Errors
    /// The errors of [`Server::new`].
    pub fn replicas(
        url: &str,
        application_name: &str,
        transaction_pooling: bool,
    ) -> Result<Vec<Self>, String> {
        let server = Self::parse(url, application_name, transaction_pooling)?;
        let each = server.hosts.split().into_iter();
        Ok(each
            .map(|hosts| Self {
                hosts,
                transaction_pooling,
            })
            .collect())
    }

    fn parse(url: &str, application_name: &str, transaction_pooling: bool) -> Result<Self, String> {
        // The driver accepts any scheme.
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        if !matches!(scheme, Some("postgres" | "postgresql")) {
            return Err("the URL must start with postgres://".to_owned());
        }
        let complete = |options: PgConnectOptions| {
            let options = options
                .application_name(application_name)
                .disable_statement_logging();
            match transaction_pooling {
                // The driver sends this start-up parameter by default. PgBouncer does not know it,
                // and refuses the connection.
                true => options.extra_float_digits(None),
                false => options,
            }
        };
        Ok(Self {
            hosts: Hosts::parse(url)?.map(complete),
            transaction_pooling,
        })
    }

    /// Whether a connection fails at once while the last attempt to open one has failed, instead of
    /// another attempt. During such an outage, callers start an attempt in the background, at most one
    /// every 500 ms and one at a time. Its success ends the outage.
    #[must_use]
    pub fn fail_fast(self, fails_fast: bool) -> Self {
        Self {
            hosts: self.hosts.failing_fast(fails_fast),
            ..self
        }
    }

    /// The hosts, for a session with the database's default settings.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// The hosts, for a session without a time limit.
    pub(crate) fn unlimited(&self) -> Hosts {
        match self.transaction_pooling {
            // A pooler refuses the settings.
            true => self.hosts.clone(),
            false => self.hosts.map(|options| options.options(OF_SERVER)),
        }
    }

    /// Whether the URL leads to a pooler in transaction mode.
    pub(crate) fn is_pooled(&self) -> bool {
        self.transaction_pooling
    }

    /// The hosts, for a session that listens for notifications. `None` behind a pooler, where a
    /// session can't listen.
    pub fn listener(&self) -> Option<Hosts> {
        (!self.transaction_pooling).then(|| self.hosts.clone())
    }

    /// How writes run, within this time limit. The server cancels a statement earlier, so that the
    /// caller learns the outcome in time; see [`SessionSettings::timeout_before`].
    pub fn writer(&self, limit: Duration) -> SessionSettings {
        let mut settings = settings(step(limit) * LONGEST_STEPS);
        // If this process dies, a pooler may not notice. Without this timeout the transaction would
        // stay open and keep its locks.
        settings.push(("idle_in_transaction_session_timeout", milliseconds(limit)));
        self.session(&settings, limit)
    }

    /// How reads run, within this time limit.
    pub fn reader(&self, limit: Duration) -> SessionSettings {
        self.session(&settings(limit), limit)
    }

    fn session(&self, settings: &[(&'static str, String)], limit: Duration) -> SessionSettings {
        if self.transaction_pooling {
            let set = settings
                .iter()
                .map(|(name, value)| format!("; SET LOCAL {name} = '{value}'"));
            // An `Arc`, so that a clone is cheap. The SQL is safe: names and values are from here.
            let begin: Arc<str> = (BEGIN.to_owned() + &set.collect::<String>()).into();
            return SessionSettings {
                hosts: self.hosts.clone(),
                begin: Some(AssertSqlSafe(begin).into_sql_str()),
                limit,
            };
        }
        let isolation = ("default_transaction_isolation", "read committed");
        SessionSettings {
            hosts: self.hosts.map(|options| {
                options
                    .options(settings.iter().map(|(name, value)| (name, value)))
                    .options(OF_SERVER)
                    .options([isolation])
            }),
            begin: None,
            limit,
        }
    }
}

/// The time limit of a writer in tenths.
fn step(limit: Duration) -> Duration {
    limit.min(LONGEST) / 10
}

/// How long a writer's statement may run, in tenths of the time limit.
const LONGEST_STEPS: u32 = 8;

impl SessionSettings {
    /// How long a statement of a writer may run at the server for a caller whose time ends at
    /// `deadline`. A tenth of the time limit is left for the answer. The caller then learns that
    /// nothing was written, instead of giving up a statement that may still write. `None` if too
    /// little time is left to send the statement.
    ///
    /// In tenths of the time limit, because a session whose timeout changes costs a round trip. It
    /// does not change for callers whose statement is sent at once.
    pub fn timeout_before(&self, deadline: Instant) -> Option<Duration> {
        let step = step(self.limit).max(Duration::from_nanos(1));
        let left = deadline.saturating_duration_since(Instant::now());
        let steps = left.as_nanos() / step.as_nanos();
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        (steps > 1).then(|| step * (steps - 1).min(LONGEST_STEPS))
    }

    /// How long a writer may take to connect for a caller whose time ends at `deadline`. A tenth of the
    /// time limit is left to tell the caller that nothing was written.
    pub(crate) fn time_to_connect(&self, deadline: Instant) -> Duration {
        let left = deadline.saturating_duration_since(Instant::now());
        left.saturating_sub(step(self.limit)).min(self.limit)
    }

    /// How long a statement of a writer may run in a new session.
    pub(crate) fn longest_timeout(&self) -> Duration {
        step(self.limit) * LONGEST_STEPS
    }

    /// [`begin`](Self::begin), for a statement that may run this long.
    pub(crate) fn begin_within(&self, timeout: Duration) -> Option<SqlStr> {
        let begin = self.begin.as_ref()?;
        if timeout == self.longest_timeout() {
            return Some(begin.clone());
        }
        let begin = format!(
            "{}; SET LOCAL {}",
            begin.as_str(),
            statement_timeout(timeout)
        );
        // Safe to assert: only the number is not from here.
        Some(AssertSqlSafe(begin).into_sql_str())
    }
}

/// Limits the duration of statements, behind SET.
pub(crate) fn statement_timeout(timeout: Duration) -> String {
    format!("statement_timeout = {}", milliseconds(timeout))
}

fn settings(statement_timeout: Duration) -> Vec<(&'static str, String)> {
    let mut settings = PLANNING
        .map(|(name, value)| (name, value.to_owned()))
        .to_vec();
    settings.push(("statement_timeout", milliseconds(statement_timeout)));
    settings
}

/// At least a millisecond, because PostgreSQL reads 0 as "no limit".
fn milliseconds(limit: Duration) -> String {
    limit.min(LONGEST).as_millis().max(1).to_string()
}

/// The last moment to send a statement of a writer with this time limit for a caller whose time ends
/// at `deadline`. A later answer might come too late.
pub fn send_before(deadline: Instant, limit: Duration) -> Instant {
    // A tenth for the statement, and a tenth for its answer.
    let least = step(limit) * 2;
    deadline.checked_sub(least).unwrap_or(deadline)
}
