//! How the store's connections are set up.

use std::str::FromStr;
use std::time::Duration;

use postgres_pool::{Limits, Pool};
use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};

use super::config::Config;
use super::error::error;
use crate::Error;
use crate::text::{invalid, malformed};

/// What every session needs: each statement of a function sees what was committed before it.
const ISOLATION: (&str, &str) = ("default_transaction_isolation", "read committed");

/// Every statement finds its rows by an index, in the order of its result; the settings keep the
/// planner, which has no statistics of a young store, from anything else.
const PLANS: [(&str, &str); 7] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("max_parallel_workers_per_gather", "0"),
    ("jit", "off"),
];

/// The options that all sessions with the database at this URL share.
pub(super) fn options(url: &str, field: &'static str) -> Result<PgConnectOptions, Error> {
    // The driver takes any scheme.
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    if !matches!(scheme, Some("postgres" | "postgresql")) {
        return Err(invalid(field)(malformed(
            "postgres:// is expected at the start",
        )));
    }
    let options = PgConnectOptions::from_str(url)
        .map_err(|refused| invalid(field)(malformed(refused.to_string())))?;
    Ok(options
        .application_name("message-store")
        .options([ISOLATION])
        .disable_statement_logging())
}

/// The session of a writer.
pub(super) fn writer(config: &Config) -> Result<PgConnectOptions, Error> {
    // The server gives up before the caller does, so that the caller learns the outcome.
    let limit = milliseconds(config.write_timeout * 4 / 5);
    Ok(options(&config.url, "url")?
        .options(PLANS)
        .options([("statement_timeout", limit)]))
}

/// A pool of readers of the database at this URL.
pub(super) fn readers(config: &Config, (url, field): (&str, &'static str)) -> Result<Pool, Error> {
    let options = options(url, field)?
        .options(PLANS)
        .options([("statement_timeout", milliseconds(config.read_timeout))]);
    let limits = Limits::new(config.read_connections, config.read_timeout);
    Ok(Pool::new(options, limits))
}

/// A session without a time limit, to install, check and import. The catalog names objects by where
/// they are found: with this path, the same way in every session.
pub(super) async fn administrator(config: &Config) -> Result<PgConnection, Error> {
    options(&config.url, "url")?
        .options([("search_path", "pg_catalog")])
        .connect()
        .await
        .map_err(|failed| error(&failed))
}

/// PostgreSQL takes 0 for "no limit", so a limit is at least a millisecond.
fn milliseconds(limit: Duration) -> String {
    limit.as_millis().clamp(1, i32::MAX as u128).to_string()
}
