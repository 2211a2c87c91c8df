//! The log on the standard error output: scripts read the address from the standard output.

use std::fmt::Display;
use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::LogFormat;

/// The log without `RUST_LOG`.
const LOGGED: &str = "warn,demo_server=info,store_http=info,\
    dcb_core=info,message_store=info,postgres_store=info,sqlite_store=info,tsdb=info";
/// PostgreSQL's notices. `CREATE .. IF NOT EXISTS` sends one whenever the object exists.
/// Only a directive for this very target turns it on.
const MUTED: &str = "sqlx::postgres::notice=off";

/// Begins the log.
pub(crate) fn begin(format: LogFormat) {
    let asked = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_else(|_| LOGGED.to_owned());
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(format!("{MUTED},{asked}")))
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

/// Writes the reason why the program ends. No filter hides it.
pub(crate) fn failure(format: LogFormat, failed: &dyn Display) {
    match format {
        LogFormat::Text => eprintln!("{failed}"),
        LogFormat::Json => {
            let line = serde_json::json!({
                "timestamp": jiff::Timestamp::now().to_string(),
                "level": "ERROR",
                "target": module_path!(),
                "message": failed.to_string(),
            });
            eprintln!("{line}");
        }
    }
}
