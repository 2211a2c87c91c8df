//! What the server under load stands on.

use super::http::ServerProcess;
use super::support::content::{self, Content};
use super::support::log::Log;
use super::support::server::Server;
use bench::BoxError;
use dcb_core::sqlite::{Config, SqliteStore};
use std::sync::Arc;

#[derive(Clone)]
pub(crate) enum Store {
    Postgres(Arc<Server>),
    /// A file that is flushed at every commit, the server's default.
    Sqlite,
}

impl Store {
    /// As the tables name it.
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
                // Where the server looks for it.
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
