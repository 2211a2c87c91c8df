//! The event stores of the server under load.

use crate::process::ServerProcess;
use crate::support::content::{self, Content};
use crate::support::log::Log;
use crate::support::server::Server;
use bench::BoxError;
use dcb_core::EventStore as _;
use dcb_core::sqlite::{Config, SqliteStore};
use std::sync::Arc;

#[derive(Clone)]
pub(crate) enum Store {
    Postgres(Arc<Server>),
    /// A file with one fsync per commit, the server's default.
    Sqlite,
}

impl Store {
    /// The store's name in the tables.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "PostgreSQL",
            Self::Sqlite => "SQLite",
        }
    }

    /// A server on a new log with this content.
    pub(crate) async fn serve(&self, content: Content) -> Result<ServerProcess, BoxError> {
        match self {
            Self::Postgres(server) => {
                let database = Log::new(server, content).renewed().await?;
                let options = ["--database-url".into(), database.url().into()];
                ServerProcess::start(&options, database).await
            }
            Self::Sqlite => {
                let folder = tempfile::tempdir()?;
                // The file name that the server expects in its data folder.
                let file = folder.path().join("events.sqlite");
                let store = SqliteStore::open(Config::file(file)).await?;
                content::fill_store(content, &store).await?;
                store.close().await;
                let options = ["--data".into(), folder.path().into()];
                ServerProcess::start(&options, folder).await
            }
        }
    }
}
