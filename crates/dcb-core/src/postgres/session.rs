//! The servers that a configuration names.

use postgres_store::{Server, connect};
use sqlx::postgres::PgConnection;

use super::config::Config;
use super::error::error;
use crate::text::invalid;
use crate::{Error, Problem};

/// The server at a URL, given with the name of its configuration field.
pub(super) fn server(config: &Config, (url, field): (&str, &'static str)) -> Result<Server, Error> {
    Server::new(url, "dcb-core", config.transaction_pooling)
        .map_err(|reason| invalid(field)(Problem::Malformed { reason }))
}

/// The server that takes the appends.
pub(super) fn primary(config: &Config) -> Result<Server, Error> {
    server(config, (&config.url, "url"))
}

/// A session that installs or checks the schema.
pub(super) async fn administrator(config: &Config) -> Result<PgConnection, Error> {
    let connected = connect(primary(config)?.options()).await;
    connected.map_err(|failed| error(&failed))
}
