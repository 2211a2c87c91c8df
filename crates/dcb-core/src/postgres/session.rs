//! How the store's connections are set up.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use postgres_pool::{Limits, Pool};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, SqlSafeStr as _, SqlStr};
use tokio::time::Instant;

use super::config::Config;
use super::error::error;
use crate::text::invalid;
use crate::{Error, Problem};

/// What all sessions with the database at this URL share.
fn options(config: &Config, (url, field): (&str, &'static str)) -> Result<PgConnectOptions, Error> {
    let malformed = |reason: String| invalid(field)(Problem::Malformed { reason });
    // The driver takes any scheme.
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    if !matches!(scheme, Some("postgres" | "postgresql")) {
        return Err(malformed("postgres:// is expected at the start".to_owned()));
    }
    let options =
        PgConnectOptions::from_str(url).map_err(|refused| malformed(refused.to_string()))?;
    let options = options
        .application_name("dcb-core")
        .disable_statement_logging();
    Ok(if config.transaction_pooling {
        // PgBouncer refuses a start-up parameter that it does not know.
        options.extra_float_digits(None)
    } else {
        options
    })
}

/// How a session or, behind a pooler, a transaction is to be.
type Settings = Vec<(&'static str, String)>;

fn with(options: PgConnectOptions, config: &Config, settings: Settings) -> PgConnectOptions {
    if config.transaction_pooling {
        options
    } else {
        options.options(settings)
    }
}

/// The statement that begins a transaction with these settings; `None` where they are the
/// session's.
fn transaction(config: &Config, settings: &Settings) -> Option<SqlStr> {
    config.transaction_pooling.then(|| {
        let set = settings
            .iter()
            .map(|(name, value)| format!("; SET LOCAL {name} = '{value}'"));
        let begin = "BEGIN ISOLATION LEVEL READ COMMITTED".to_owned() + &set.collect::<String>();
        // Shared, so that a clone is cheap. Names and values are this file's.
        AssertSqlSafe(Arc::<str>::from(begin)).into_sql_str()
    })
}

fn writing(config: &Config) -> Settings {
    vec![
        // The server gives up before the caller does, so that the caller learns the outcome.
        (
            "statement_timeout",
            milliseconds(config.append_timeout.saturating_mul(4) / 5),
        ),
    ]
}

fn reading(config: &Config) -> Settings {
    let mut settings = planning();
    settings.push(("statement_timeout", milliseconds(config.query_timeout)));
    settings
}

/// Statements are planned once and read an index in the order of what they look for; the settings
/// keep the planner, which has no statistics of a young log, from anything else.
fn planning() -> Settings {
    let settings = [
        ("plan_cache_mode", "force_generic_plan"),
        ("enable_seqscan", "off"),
        ("enable_bitmapscan", "off"),
        ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"),
        ("max_parallel_workers_per_gather", "0"),
        ("jit", "off"),
    ];
    settings
        .map(|(name, value)| (name, value.to_owned()))
        .into()
}

/// The session of the writer: READ COMMITTED whatever the database's default is, because
/// `dcb.append` must see all that was committed before it got the lock.
pub(super) fn writer(config: &Config) -> Result<PgConnectOptions, Error> {
    let mut settings = planning();
    settings.extend(writing(config));
    settings.push(("default_transaction_isolation", "read committed".to_owned()));
    Ok(with(
        options(config, (&config.url, "url"))?,
        config,
        settings,
    ))
}

/// What begins a transaction of the writer's, where a session is no longer than that.
pub(super) fn writing_transaction(config: &Config) -> Option<SqlStr> {
    let mut settings = writing(config);
    // The pooler may not notice that this process is gone; the log is locked until it does.
    settings.push((
        "idle_in_transaction_session_timeout",
        milliseconds(config.append_timeout),
    ));
    transaction(config, &settings)
}

/// The pool of the readers of the database at this URL, which is that of a field.
pub(super) fn readers(config: &Config, url: (&str, &'static str)) -> Result<Pool, Error> {
    let options = with(options(config, url)?, config, reading(config));
    let limits = Limits::new(config.read_connections, config.query_timeout);
    Ok(Pool::new(options, limits))
}

/// What begins a transaction of a reader's, where a session is no longer than that.
pub(super) fn reading_transaction(config: &Config) -> Option<SqlStr> {
    transaction(config, &reading(config))
}

/// The session that listens for what other processes append; `None` where a session can't.
pub(super) fn listener(config: &Config) -> Result<Option<PgConnectOptions>, Error> {
    let options = options(config, (&config.url, "url"))?;
    Ok((!config.transaction_pooling).then_some(options))
}

/// A session of the database's own settings.
pub(super) fn plain(config: &Config) -> Result<PgConnectOptions, Error> {
    options(config, (&config.url, "url"))
}

/// A session that installs or checks the schema.
pub(super) async fn administrator(config: &Config) -> Result<PgConnection, Error> {
    plain(config)?
        .connect()
        .await
        .map_err(|failed| error(&failed))
}

/// The longest limit that PostgreSQL takes, some 24 days.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

/// PostgreSQL takes 0 for "no limit", so a limit is at least a millisecond.
fn milliseconds(limit: Duration) -> String {
    limit.min(LONGEST).as_millis().max(1).to_string()
}

/// When this limit is over for who begins now.
pub(super) fn end_of(limit: Duration) -> Instant {
    Instant::now() + limit.min(LONGEST)
}
