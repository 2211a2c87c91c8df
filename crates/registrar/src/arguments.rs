use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::backup::Backup;
use crate::events::EventsCommand;
use crate::failure::Failure;
use crate::messages::MessagesCommand;
use crate::moving::Move;
use crate::output::Output;
use crate::program::Stop;
use crate::projections::ProjectionsCommand;
use crate::schema::SchemaCommand;
use crate::series::SeriesCommand;

/// Looks at, checks, backs up, imports, moves and serves event logs, message stores and series.
///
/// A PLACE is a database (postgres://user@host/database, with ?schema=NAME for another schema than the
/// usual one), an SQLite file, or the data folder of a server. Commands that only look open the place for
/// reads, so a service may go on using it.
#[derive(Parser)]
#[command(
    name = "registrar",
    version,
    after_help = "Exit codes: 0 done; 1 refused, a conflict or a difference; 2 wrong arguments or input; \
        3 the place can't be reached or is busy; 4 the place can't be used as it is; 5 the outcome of a \
        write is unknown; 130 and 143 stopped by Ctrl-C and SIGTERM."
)]
pub(crate) struct Arguments {
    /// Print JSON, one value a line. Errors are JSON too, on the standard error output.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Serve events, messages and series over HTTP, until Ctrl-C or SIGTERM.
    // Boxed, because it is large.
    Serve(Box<demo_server::program::Arguments>),
    /// Print a script that completes commands in your shell.
    Completion {
        /// The shell.
        shell: Shell,
    },
    #[command(flatten)]
    Tool(Box<Tool>),
}

/// The commands that work on a place and end.
#[derive(Subcommand)]
pub(crate) enum Tool {
    /// Look at an event log, append to it, export, import and check it.
    #[command(subcommand)]
    Events(EventsCommand),
    /// Look at a message store, write to it, export and import it.
    #[command(subcommand)]
    Messages(MessagesCommand),
    /// Look at the series of a server's data folder.
    #[command(subcommand)]
    Series(SeriesCommand),
    /// List kept projections with their lag, or let one start over.
    #[command(subcommand)]
    Projections(ProjectionsCommand),
    /// Print, install or check the schemas in PostgreSQL.
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Copy the files of a place to a new folder, while a service uses them.
    Backup(Backup),
    /// Move an event log or a message store to another place, of any backend.
    Move(Move),
}

impl Tool {
    /// Whether the command ends by itself after the first signal. Others are ended by it.
    pub(crate) fn ends_itself(&self) -> bool {
        matches!(self, Self::Move(moving) if moving.follow)
    }

    pub(crate) async fn run(self, output: &mut Output, stop: Stop) -> Result<(), Failure> {
        // Boxed, because a worker's stack has no room for a future that holds those of all commands.
        match self {
            Self::Events(command) => Box::pin(command.run(output)).await,
            Self::Messages(command) => Box::pin(command.run(output)).await,
            Self::Series(command) => command.run(output),
            Self::Projections(command) => Box::pin(command.run(output)).await,
            Self::Schema(command) => Box::pin(command.run(output)).await,
            Self::Backup(backup) => Box::pin(backup.run(output)).await,
            Self::Move(moving) => Box::pin(moving.run(output, stop)).await,
        }
    }
}
