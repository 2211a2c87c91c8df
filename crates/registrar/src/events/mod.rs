mod append;
mod check;
mod export;
mod filter;
mod import;
mod query;
mod stats;
mod tail;
mod text;

pub(crate) use export::create;
pub(crate) use import::open_input;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output::Output;

#[derive(Subcommand)]
pub(crate) enum EventsCommand {
    Append(append::AppendEvent),
    Check(check::Check),
    Export(export::Export),
    Import(import::Import),
    Query(query::QueryEvents),
    Stats(stats::ShowStats),
    Tail(tail::Tail),
}

impl EventsCommand {
    pub(crate) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::Append(append) => append.run(output).await,
            Self::Check(check) => check.run(output).await,
            Self::Export(export) => export.run(output).await,
            Self::Import(import) => import.run(output).await,
            Self::Query(query) => query.run(output).await,
            Self::Stats(stats) => stats.run(output).await,
            Self::Tail(tail) => tail.run(output).await,
        }
    }
}
