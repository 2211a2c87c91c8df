//! The servers that a configuration names.

use postgres_store::{Server, connect};
use sqlx::postgres::PgConnection;

use super::config::Config;
use super::error::error;
use crate::Error;
use crate::text::{invalid, malformed};

const NAME: &str = "message-store";

/// The server that takes the writes.
pub(super) fn primary(config: &Config) -> Result<Server, Error> {
    Server::new(&config.url, NAME, config.transaction_pooling)
        .map(|server| server.fail_fast(config.fail_fast))
        .map_err(|reason| invalid("url")(malformed(reason)))
}

/// The replicas for reads.
pub(super) fn replicas(config: &Config) -> Result<Vec<Server>, Error> {
    let Some(url) = &config.replica_url else {
        return Ok(Vec::new());
    };
    Server::replicas(url, NAME, config.transaction_pooling)
        .map_err(|reason| invalid("replica_url")(malformed(reason)))
}

/// Opens a session without a time limit, to install, verify and import. Its statements are not
/// named, and run in transactions: behind a pooler, other clients use the server's session too.
pub(super) async fn administrator(config: &Config) -> Result<PgConnection, Error> {
    let connected = connect(primary(config)?.hosts()).await;
    connected.map_err(|failed| error(&failed))
}
