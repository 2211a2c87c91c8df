//! The command line of Registrar's stores. See the README for a session.

mod arguments;
mod backup;
mod database;
mod events;
mod failure;
mod import;
mod messages;
mod moving;
mod output;
mod place;
mod program;
mod progress;
mod projections;
mod schema;
mod series;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        Command::Serve(server) => demo_server::program::main(*server),
        Command::Completion { shell } => {
            let mut command = Arguments::command();
            clap_complete::generate(shell, &mut command, "registrar", &mut std::io::stdout());
            ExitCode::SUCCESS
        }
        Command::Tool(tool) => program::run(*tool, arguments.json),
    }
}
