use std::io::ErrorKind;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Error};

/// Opens a connection. `None` if the server refuses connections for now, because it is starting,
/// stopping or full.
pub(super) async fn connect(options: &PgConnectOptions) -> Result<Option<PgConnection>, Error> {
    match options.connect().await {
        Err(failed) if may_pass(&failed) => Ok(None),
        connected => connected.map(Some),
    }
}

fn may_pass(failed: &Error) -> bool {
    match failed {
        Error::Io(failed) => failed.kind() == ErrorKind::ConnectionRefused,
        Error::Database(refused) => refused.is_transient_in_connect_phase(),
        _ => false,
    }
}
