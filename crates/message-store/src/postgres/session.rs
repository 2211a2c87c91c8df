//! The servers that a configuration names.

use postgres_store::{Server, connect};
use sqlx::postgres::PgConnection;

use super::config::Config;
use super::error::error;
use crate::Error;
use crate::text::{invalid, malformed};

/// The server at a URL, given with the name of its configuration field.
pub(super) fn server(config: &Config, (url, field): (&str, &'static str)) -> Result<Server, Error> {
    Server::new(url, "message-store", config.transaction_pooling)
        .map_err(|reason| invalid(field)(malformed(reason)))
}

/// The server that takes the writes.
pub(super) fn primary(config: &Config) -> Result<Server, Error> {
    server(config, (&config.url, "url"))
}

/// Opens a session without a time limit, to install, verify and import. Its statements are not
/// named, and run in transactions: behind a pooler, other clients use the server's session too.
pub(super) async fn administrator(config: &Config) -> Result<PgConnection, Error> {
    let connected = connect(primary(config)?.options()).await;
    connected.map_err(|failed| error(&failed))
}
