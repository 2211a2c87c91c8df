//! Connection settings.

use std::str::FromStr;
use std::time::Duration;

use postgres_pool::{Limits, Pool};
use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};

use super::config::Config;
use super::error::error;
use crate::Error;
use crate::text::{invalid, malformed};

/// Required for all sessions: each statement of a function must see everything that was committed
/// before the statement.
const ISOLATION: (&str, &str) = ("default_transaction_isolation", "read committed");

/// For every statement, an index yields its rows in order. These settings keep the planner on that
/// index while a new store has no statistics.
const PLANS: [(&str, &str); 7] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("max_parallel_workers_per_gather", "0"),
    ("jit", "off"),
];

/// The options common to all sessions.
pub(super) fn options(url: &str, field: &'static str) -> Result<PgConnectOptions, Error> {
    // The driver accepts any scheme.
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    if !matches!(scheme, Some("postgres" | "postgresql")) {
        return Err(invalid(field)(malformed(
            "a URL must start with postgres://",
        )));
    }
    let options = PgConnectOptions::from_str(url)
        .map_err(|refused| invalid(field)(malformed(refused.to_string())))?;
    // The database or the role may have another default isolation.
    Ok(options
        .application_name("message-store")
        .options([ISOLATION])
        .disable_statement_logging())
}

/// The options of a writer's session.
pub(super) fn writer(config: &Config) -> Result<PgConnectOptions, Error> {
    // The server must give up before the caller does, so that the caller learns the outcome.
    let limit = milliseconds(config.write_timeout * 4 / 5);
    Ok(options(&config.url, "url")?
        .options(PLANS)
        .options([("statement_timeout", limit)]))
}

/// A pool of read connections.
pub(super) fn readers(config: &Config, (url, field): (&str, &'static str)) -> Result<Pool, Error> {
    let options = options(url, field)?
        .options(PLANS)
        .options([("statement_timeout", milliseconds(config.read_timeout))]);
    let limits = Limits::new(config.read_connections, config.read_timeout);
    Ok(Pool::new(options, limits))
}

/// Opens a session without a time limit, to install, verify and import. Its search path is fixed,
/// because the catalog prints names with or without a schema depending on the path.
pub(super) async fn administrator(config: &Config) -> Result<PgConnection, Error> {
    options(&config.url, "url")?
        .options([("search_path", "pg_catalog")])
        .connect()
        .await
        .map_err(|failed| error(&failed))
}

/// At least 1 ms, because 0 means no limit to PostgreSQL.
fn milliseconds(limit: Duration) -> String {
    limit.as_millis().clamp(1, i32::MAX as u128).to_string()
}
