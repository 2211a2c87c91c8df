//! A running server, named by `DATABASE_URL`.

use std::env;

use super::{Found, Server};
use crate::{Missing, Source, url};
use postgres_store::url_of_writable_host;

const VARIABLE: &str = "DATABASE_URL";

pub(crate) fn is_set() -> bool {
    env::var_os(VARIABLE).is_some_and(|value| !value.is_empty())
}

/// Finds the host that takes writes, if the URL has several. Does not connect to a single one.
/// [`LocalPostgres::start`] connects to the server of any source, and reports an error if it does not
/// answer.
///
/// [`LocalPostgres::start`]: crate::LocalPostgres::start
pub(crate) async fn start() -> Result<Found, Missing> {
    if !is_set() {
        return Err(Missing::absent(Source::Url, "DATABASE_URL is not set"));
    }
    let absent = |reason| Missing::absent(Source::Url, reason);
    let url = env::var(VARIABLE).map_err(|_| absent("DATABASE_URL is not UTF-8"))?;
    let url = url_of_writable_host(&url).await.map_err(|reason| {
        let reason = format!("DATABASE_URL at {}: {reason}", url::without_secrets(&url));
        Missing::failed(Source::Url, reason)
    })?;
    Ok(Found {
        source: Source::Url,
        origin: format!("DATABASE_URL at {}", url::without_secrets(&url)),
        url,
        socket_url: None,
        server: Server::Foreign,
        failed: Vec::new(),
    })
}
