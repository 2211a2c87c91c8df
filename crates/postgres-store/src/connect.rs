use std::io::ErrorKind;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Error};

use tokio::time::timeout;

use crate::connect_error::HostError;
use crate::encryption;
use crate::hosts::{self, Hosts};
use crate::sign_of_life::OPENING;
use crate::statement::no_answer_within;

/// Opens a connection to one of the hosts, encrypted or not as the URL demands. Gives up after some
/// seconds without an answer.
///
/// # Errors
/// An error in which [`connect_error`](crate::connect_error) finds the cause at each host.
pub async fn connect(hosts: &Hosts) -> Result<PgConnection, Error> {
    let found = hosts::find(hosts).await?;
    Ok(found.connection)
}

/// Opens a connection to one host.
pub(crate) async fn to_host(options: &PgConnectOptions) -> Result<PgConnection, HostError> {
    let mut answer = Err(Error::PoolClosed);
    for attempt in encryption::attempts(options) {
        answer = match timeout(OPENING, attempt.connect()).await {
            Ok(connected) => connected.map_err(of_handshake),
            Err(_) => Err(no_answer_within(OPENING)),
        };
        match &answer {
            Err(failed) if encryption::is_refusal(failed) => {}
            _ => break,
        }
    }
    answer.map_err(|failed| HostError::new(options, failed))
}

/// The TLS library reports a certificate that it does not trust as invalid data of the connection.
pub(crate) fn of_handshake(failed: Error) -> Error {
    match failed {
        Error::Io(failed) if failed.kind() == ErrorKind::InvalidData => Error::Tls(failed.into()),
        failed => failed,
    }
}
