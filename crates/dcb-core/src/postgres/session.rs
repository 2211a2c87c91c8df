//! How the store's connections are set up.

use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _};

use super::config::Config;
use super::error::error;
use super::liveness::Liveness;
use crate::text::invalid;
use crate::{Error, Problem};

/// The options that both kinds of sessions share.
fn options(config: &Config) -> Result<PgConnectOptions, Error> {
    let malformed = |reason: String| invalid("url")(Problem::Malformed { reason });
    // The driver takes any scheme.
    let scheme = config.url.split_once("://").map(|(scheme, _)| scheme);
    if !matches!(scheme, Some("postgres" | "postgresql")) {
        return Err(malformed("postgres:// is expected at the start".to_owned()));
    }
    let options = PgConnectOptions::from_str(&config.url)
        .map_err(|refused| malformed(refused.to_string()))?;
    Ok(options
        .application_name("dcb-core")
        .disable_statement_logging())
}

/// The session of the writer: READ COMMITTED whatever the database's default is, because
/// `dcb.append` must see all that was committed before it got the lock.
pub(super) fn writer(config: &Config) -> Result<PgConnectOptions, Error> {
    Ok(options(config)?.options([
        ("default_transaction_isolation", "read committed".to_owned()),
        // The server gives up before the caller does, so that the caller learns the outcome.
        (
            "statement_timeout",
            milliseconds(config.append_timeout * 4 / 5),
        ),
    ]))
}

/// The pool of the readers. Every statement reads an index in the order of its result; the settings
/// keep the planner, which has no statistics of a young log, from anything else.
pub(super) fn readers(config: &Config, liveness: &Arc<Liveness>) -> Result<PgPool, Error> {
    let liveness = Arc::clone(liveness);
    let options = options(config)?.options([
        ("plan_cache_mode", "force_generic_plan".to_owned()),
        ("enable_seqscan", "off".to_owned()),
        ("enable_bitmapscan", "off".to_owned()),
        ("enable_hashjoin", "off".to_owned()),
        ("enable_mergejoin", "off".to_owned()),
        ("max_parallel_workers_per_gather", "0".to_owned()),
        ("jit", "off".to_owned()),
        ("statement_timeout", milliseconds(config.query_timeout)),
    ]);
    Ok(PgPoolOptions::new()
        .max_connections(config.read_connections.max(1))
        .acquire_timeout(config.query_timeout)
        // A check before each use is a round trip; a dead connection is noticed when it is used.
        .test_before_acquire(false)
        .before_acquire(move |connection, meta| {
            let opened = Instant::now().checked_sub(meta.age);
            let suspect = opened.is_some_and(|opened| liveness.is_suspect(opened));
            Box::pin(async move {
                // An error here closes the connection and makes the pool try another.
                if suspect {
                    connection.ping().await.map(|()| true)
                } else {
                    Ok(true)
                }
            })
        })
        .connect_lazy_with(options))
}

/// A session that installs or checks the schema.
pub(super) async fn administrator(config: &Config) -> Result<PgConnection, Error> {
    options(config)?
        .connect()
        .await
        .map_err(|failed| error(&failed))
}

/// PostgreSQL takes 0 for "no limit", so a limit is at least a millisecond.
fn milliseconds(limit: Duration) -> String {
    limit.as_millis().clamp(1, i32::MAX as u128).to_string()
}
