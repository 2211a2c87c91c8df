//! Encryption of connections, as libpq does it where the driver differs.

use std::env;
use std::fs::File;

use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// The parameters of a URL that name a file, with their spellings and the variable of the
/// environment that stands in for them.
const FILES: [([&str; 3], &str); 3] = [
    (ROOT, "PGSSLROOTCERT"),
    (["sslcert", "ssl-cert", "ssl-cert"], "PGSSLCERT"),
    (["sslkey", "ssl-key", "ssl-key"], "PGSSLKEY"),
];
const ROOT: [&str; 3] = ["sslrootcert", "ssl-root-cert", "ssl-ca"];

/// Completes the options that the driver read from a URL.
///
/// # Errors
/// A text that names a file of the URL which can't be read. The driver would find out at each
/// connection, and name no file.
pub(crate) fn complete(options: PgConnectOptions, url: &str) -> Result<PgConnectOptions, String> {
    for (spellings, variable) in FILES {
        if let Some(path) = parameter(url, spellings, variable)
            && !path.trim_start().starts_with("-----BEGIN")
        {
            File::open(&path).map_err(|failed| format!("{} {path}: {failed}", spellings[0]))?;
        }
    }
    let has_roots = parameter(url, ROOT, "PGSSLROOTCERT").is_some();
    Ok(match options.get_ssl_mode() {
        // The server is on this machine.
        _ if is_socket(&options) => options.ssl_mode(PgSslMode::Disable),
        // Who names roots expects a check against them.
        PgSslMode::Require if has_roots => options.ssl_mode(PgSslMode::VerifyCa),
        _ => options,
    })
}

fn parameter(url: &str, spellings: [&str; 3], variable: &str) -> Option<String> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| spellings.contains(&name.as_ref()))
        .last()
        .map(|(_, value)| value.into_owned())
        .or_else(|| env::var(variable).ok())
}

fn is_socket(options: &PgConnectOptions) -> bool {
    options.get_socket().is_some() || options.get_host().starts_with('/')
}

/// The ways to connect, in order. `allow` encrypts if the server refuses a plain connection, and
/// `prefer` does without if the server refuses an encrypted one.
pub(crate) fn attempts(options: &PgConnectOptions) -> Vec<PgConnectOptions> {
    let with = |mode| options.clone().ssl_mode(mode);
    match options.get_ssl_mode() {
        PgSslMode::Allow => vec![with(PgSslMode::Disable), with(PgSslMode::Require)],
        PgSslMode::Prefer => vec![options.clone(), with(PgSslMode::Disable)],
        _ => vec![options.clone()],
    }
}

/// Whether another kind of connection may succeed after this error: the handshake failed, or the
/// server has no rule for this client and this kind of connection.
pub(crate) fn is_refusal(failed: &sqlx::Error) -> bool {
    const NO_RULE: &str = "28000";
    /// PgBouncer's answer to a plain connection if it demands an encrypted one.
    const PROTOCOL_VIOLATION: &str = "08P01";
    match failed {
        sqlx::Error::Tls(_) => true,
        sqlx::Error::Database(refused) => {
            matches!(
                refused.code().as_deref(),
                Some(NO_RULE | PROTOCOL_VIOLATION)
            )
        }
        _ => false,
    }
}
