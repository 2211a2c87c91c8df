//! The settings of the store's connections.

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

/// The options of every session with the database at this URL.
fn options(config: &Config, (url, field): (&str, &'static str)) -> Result<PgConnectOptions, Error> {
    let malformed = |reason: String| invalid(field)(Problem::Malformed { reason });
    // The driver accepts any scheme.
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    if !matches!(scheme, Some("postgres" | "postgresql")) {
        return Err(malformed("the URL must start with postgres://".to_owned()));
    }
    let options =
        PgConnectOptions::from_str(url).map_err(|refused| malformed(refused.to_string()))?;
    let options = options
        .application_name("dcb-core")
        .disable_statement_logging();
    Ok(if config.transaction_pooling {
        // The driver sends this start-up parameter by default. PgBouncer does not know it, and
        // refuses the connection.
        options.extra_float_digits(None)
    } else {
        options
    })
}

/// Settings of a session or, behind a pooler, of a transaction.
type Settings = Vec<(&'static str, String)>;

fn with(options: PgConnectOptions, config: &Config, settings: Settings) -> PgConnectOptions {
    if config.transaction_pooling {
        options
    } else {
        options.options(settings)
    }
}

/// The statement that begins a transaction with these settings. `None` without a pooler, because
/// the session has the settings then.
fn transaction(config: &Config, settings: &Settings) -> Option<SqlStr> {
    config.transaction_pooling.then(|| {
        let set = settings
            .iter()
            .map(|(name, value)| format!("; SET LOCAL {name} = '{value}'"));
        let begin = "BEGIN ISOLATION LEVEL READ COMMITTED".to_owned() + &set.collect::<String>();
        // An `Arc`, so that a clone is cheap. Safe to assert: names and values are from this file.
        AssertSqlSafe(Arc::<str>::from(begin)).into_sql_str()
    })
}

fn writing(config: &Config) -> Settings {
    vec![
        // Shorter than the caller's timeout, so that the server cancels the statement first and
        // the caller learns the outcome.
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

/// Makes the planner plan each statement once and use the indexes that the statement is written
/// for. In a young log, which has no statistics yet, the planner would choose other plans.
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

/// The session of the writer. READ COMMITTED, independent of the database's default, because
/// `dcb.append` must see everything that was committed before it got the lock.
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

/// The statement that begins each of the writer's transactions. `None` without a pooler.
pub(super) fn writing_transaction(config: &Config) -> Option<SqlStr> {
    let mut settings = writing(config);
    // If this process dies, the pooler may not notice. Without this timeout, the transaction would
    // stay open and keep the log locked.
    settings.push((
        "idle_in_transaction_session_timeout",
        milliseconds(config.append_timeout),
    ));
    transaction(config, &settings)
}

/// The pool that reads from the database at a URL, given with the name of its configuration field.
pub(super) fn readers(config: &Config, url: (&str, &'static str)) -> Result<Pool, Error> {
    let options = with(options(config, url)?, config, reading(config));
    let limits = Limits::new(config.read_connections, config.query_timeout);
    Ok(Pool::new(options, limits))
}

/// The statement that begins each of the readers' transactions. `None` without a pooler.
pub(super) fn reading_transaction(config: &Config) -> Option<SqlStr> {
    transaction(config, &reading(config))
}

/// The session that listens for appends of other processes; `None` behind a pooler, where a session
/// can't listen.
pub(super) fn listener(config: &Config) -> Result<Option<PgConnectOptions>, Error> {
    let options = options(config, (&config.url, "url"))?;
    Ok((!config.transaction_pooling).then_some(options))
}

/// A session with the database's default settings.
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

/// The longest timeout that PostgreSQL accepts, about 24 days.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

/// At least a millisecond, because PostgreSQL reads 0 as "no limit".
fn milliseconds(limit: Duration) -> String {
    limit.min(LONGEST).as_millis().max(1).to_string()
}

/// The deadline of an operation that starts now.
pub(super) fn deadline_after(limit: Duration) -> Instant {
    Instant::now() + limit.min(LONGEST)
}
