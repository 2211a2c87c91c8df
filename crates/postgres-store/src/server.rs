//! The server behind a URL, and the settings under which a store's statements run there.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, SqlSafeStr as _, SqlStr};
use tokio::time::Instant;

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
    options: PgConnectOptions,
    transaction_pooling: bool,
}

/// How statements of one kind run.
#[derive(Clone)]
pub struct Session {
    /// The options of a connection.
    pub options: PgConnectOptions,
    /// Behind a pooler, the statement that begins a transaction with the session's settings.
    /// Without a pooler `None`, because the connection has the settings.
    pub begin: Option<SqlStr>,
    /// The time limit of a statement.
    pub limit: Duration,
}

impl Server {
    /// Parses a URL. The server shows `application_name` in its list of sessions.
    ///
    /// # Errors
    /// A text that says how the URL is malformed.
    pub fn new(
        url: &str,
        application_name: &str,
        transaction_pooling: bool,
    ) -> Result<Self, String> {
        // The driver accepts any scheme.
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        if !matches!(scheme, Some("postgres" | "postgresql")) {
            return Err("the URL must start with postgres://".to_owned());
        }
        let options = PgConnectOptions::from_str(url).map_err(|refused| refused.to_string())?;
        let options = options
            .application_name(application_name)
            .disable_statement_logging();
        let options = if transaction_pooling {
            // The driver sends this start-up parameter by default. PgBouncer does not know it, and
            // refuses the connection.
            options.extra_float_digits(None)
        } else {
            options
        };
        Ok(Self {
            options,
            transaction_pooling,
        })
    }

    /// The options of a session with the database's default settings.
    pub fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// The options of a session that listens for notifications. `None` behind a pooler, where a
    /// session can't listen.
    pub fn listener(&self) -> Option<PgConnectOptions> {
        (!self.transaction_pooling).then(|| self.options.clone())
    }

    /// How writes run, within this time limit. The server cancels a statement after four fifths of
    /// it, so that the caller learns the outcome in time.
    pub fn writer(&self, limit: Duration) -> Session {
        let mut settings = settings(limit.saturating_mul(4) / 5);
        // If this process dies, a pooler may not notice. Without this timeout the transaction would
        // stay open and keep its locks.
        settings.push(("idle_in_transaction_session_timeout", milliseconds(limit)));
        self.session(settings, limit)
    }

    /// How reads run, within this time limit.
    pub fn reader(&self, limit: Duration) -> Session {
        self.session(settings(limit), limit)
    }

    fn session(&self, settings: Vec<(&'static str, String)>, limit: Duration) -> Session {
        if self.transaction_pooling {
            let set = settings
                .iter()
                .map(|(name, value)| format!("; SET LOCAL {name} = '{value}'"));
            // An `Arc`, so that a clone is cheap. The SQL is safe: names and values are from here.
            let begin: Arc<str> = (BEGIN.to_owned() + &set.collect::<String>()).into();
            return Session {
                options: self.options.clone(),
                begin: Some(AssertSqlSafe(begin).into_sql_str()),
                limit,
            };
        }
        let isolation = ("default_transaction_isolation", "read committed");
        Session {
            options: self.options.clone().options(settings).options([isolation]),
            begin: None,
            limit,
        }
    }
}

fn settings(statement_timeout: Duration) -> Vec<(&'static str, String)> {
    let mut settings = PLANNING
        .map(|(name, value)| (name, value.to_owned()))
        .to_vec();
    settings.push(("statement_timeout", milliseconds(statement_timeout)));
    settings
}

/// The longest timeout that PostgreSQL accepts, about 24 days.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

/// At least a millisecond, because PostgreSQL reads 0 as "no limit".
fn milliseconds(limit: Duration) -> String {
    limit.min(LONGEST).as_millis().max(1).to_string()
}

/// The deadline of an operation that starts now.
pub fn deadline_after(limit: Duration) -> Instant {
    Instant::now() + limit.min(LONGEST)
}
