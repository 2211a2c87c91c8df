mod categories;
mod checkpoints;
mod export;
mod import;
mod read;
mod stats;
mod streams;
mod text;
mod write;

use clap::Subcommand;
use message_store::{AnyStore, NamespaceName};

use crate::failure::Failure;
use crate::output::Output;
use crate::place::{Access, Place};

#[derive(Subcommand)]
pub(crate) enum MessagesCommand {
    Categories(categories::ListCategories),
    Checkpoints(checkpoints::ListCheckpoints),
    Export(export::Export),
    Import(import::Import),
    Read(read::Read),
    Stats(stats::ShowStats),
    Streams(streams::Streams),
    Write(write::Write),
}

/// The message store of a command.
#[derive(clap::Args)]
pub(crate) struct Target {
    /// The message store. In a data folder it is the namespace `default`, in a database the schema
    /// message_store.
    place: Place,
    /// The namespace.
    #[arg(long, value_name = "NAME")]
    namespace: Option<NamespaceName>,
}

impl Target {
    async fn open(&self, access: Access) -> Result<AnyStore, Failure> {
        self.place.messages(self.namespace.as_ref(), access).await
    }
}

impl MessagesCommand {
    pub(crate) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::Categories(list) => list.run(output).await,
            Self::Checkpoints(list) => list.run(output).await,
            Self::Export(export) => export.run(output).await,
            Self::Import(import) => import.run(output).await,
            Self::Read(read) => read.run(output).await,
            Self::Stats(stats) => stats.run(output).await,
            Self::Streams(list) => list.run(output).await,
            Self::Write(write) => write.run(output).await,
        }
    }
}
