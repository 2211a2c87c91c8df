use std::io::ErrorKind;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Error};
use tokio::time::sleep;

/// Connects, and tries again as long as the server refuses because it starts, stops or is full. The
/// caller bounds the time.
pub(crate) async fn connect(
    options: &PgConnectOptions,
    longest_pause: Duration,
) -> Result<PgConnection, Error> {
    let mut pause = Duration::from_millis(10).min(longest_pause);
    loop {
        match options.connect().await {
            Err(failed) if may_pass(&failed) => {}
            connected => return connected,
        }
        sleep(pause).await;
        pause = (pause * 2).min(longest_pause);
    }
}

fn may_pass(failed: &Error) -> bool {
    match failed {
        Error::Io(failed) => failed.kind() == ErrorKind::ConnectionRefused,
        Error::Database(refused) => refused.is_transient_in_connect_phase(),
        _ => false,
    }
}
