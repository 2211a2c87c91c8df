//! A running server, named by `DATABASE_URL`.

use std::env;

use super::{Found, Server};
use crate::{Missing, Source, url};

const VARIABLE: &str = "DATABASE_URL";

pub(crate) fn is_set() -> bool {
    env::var_os(VARIABLE).is_some_and(|value| !value.is_empty())
}

/// Does not connect. [`LocalPostgres::start`] connects to the server of any source, and reports an
/// error if it does not answer.
///
/// [`LocalPostgres::start`]: crate::LocalPostgres::start
pub(crate) fn start() -> Result<Found, Missing> {
    if !is_set() {
        return Err(Missing::absent(Source::Url, "DATABASE_URL is not set"));
    }
    let absent = |reason| Missing::absent(Source::Url, reason);
    let url = env::var(VARIABLE).map_err(|_| absent("DATABASE_URL is not UTF-8"))?;
    Ok(Found {
        source: Source::Url,
        origin: format!("DATABASE_URL at {}", url::without_secrets(&url)),
        url,
        socket_url: None,
        server: Server::Foreign,
        failed: Vec::new(),
    })
}
