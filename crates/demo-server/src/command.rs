//! Commands that need no server.

use std::error::Error;

use futures_util::future::BoxFuture;

use crate::health;
use crate::schemas::SchemaCommand;
use crate::series_files::SeriesCommand;
use crate::settings::Settings;

/// Commands that need no server.
#[derive(Clone, Copy, Debug, clap::Subcommand)]
pub enum Command {
    /// Check or repair the files of the series in the data folder, while no server uses it.
    #[command(subcommand)]
    Series(SeriesCommand),
    /// Ask the server on --listen and --port whether it answers; for health checks.
    Health,
    /// Install, check or print the schemas of events and messages in PostgreSQL; check or rebuild what finds
    /// events and messages.
    #[command(subcommand)]
    Schema(SchemaCommand),
}

impl Command {
    /// Runs the command, and returns the text to print.
    ///
    /// # Errors
    /// Files: there is no such folder, a server uses it, or it can't be read or written. Schemas:
    /// no database is named, it can't be reached, or its schemas are not as installed. Health: the
    /// server does not answer.
    pub fn run(self, settings: &Settings) -> BoxFuture<'_, Result<String, Box<dyn Error>>> {
        Box::pin(async move {
            match self {
                Self::Series(command) => command.run(settings),
                Self::Health => health::ask(settings),
                Self::Schema(command) => command.run(settings).await,
            }
        })
    }
}
