use std::io::ErrorKind;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Error};

use tokio::time::timeout;

use crate::encryption;
use crate::hosts::{self, Found, Hosts};
use crate::sign_of_life::OPENING;
use crate::statement::no_answer;

/// Opens a connection to one of the hosts, encrypted or not as the URL demands. Gives up after some
/// seconds without an answer.
///
/// # Errors
/// The driver's; [`Error::Tls`] for every failed handshake. With several hosts, an [`Error::Io`] that
/// says what is wrong with each, unless each refuses for good.
pub async fn connect(hosts: &Hosts) -> Result<PgConnection, Error> {
    hosts::find(hosts).await.map(|found| found.connection)
}

/// Opens a connection to one host.
pub(crate) async fn to_host(options: &PgConnectOptions) -> Result<PgConnection, Error> {
    let mut answer = Err(Error::PoolClosed);
    for attempt in encryption::attempts(options) {
        answer = match timeout(OPENING, attempt.connect()).await {
            Ok(connected) => connected.map_err(of_handshake),
            Err(_) => Err(no_answer()),
        };
        match &answer {
            Err(failed) if encryption::is_refusal(failed) => {}
            _ => break,
        }
    }
    answer
}

/// The TLS library reports a certificate that it does not trust as invalid data of the connection.
pub(crate) fn of_handshake(failed: Error) -> Error {
    match failed {
        Error::Io(failed) if failed.kind() == ErrorKind::InvalidData => Error::Tls(failed.into()),
        failed => failed,
    }
}

/// Opens a connection. `None` if the server refuses connections for now, because it is starting,
/// stopping or full, or if it does not answer.
pub(crate) async fn try_connect(hosts: &Hosts) -> Result<Option<Found>, Error> {
    match hosts::find(hosts).await {
        Err(failed) if may_pass(&failed) => Ok(None),
        found => found.map(Some),
    }
}

pub(crate) fn may_pass(failed: &Error) -> bool {
    match failed {
        Error::Io(failed) => {
            matches!(
                failed.kind(),
                ErrorKind::ConnectionRefused | ErrorKind::TimedOut
            )
        }
        Error::Database(refused) => refused.is_transient_in_connect_phase(),
        _ => false,
    }
}
