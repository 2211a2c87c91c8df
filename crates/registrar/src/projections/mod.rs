//! Kept projections: tables into which a service folds a log, each with its checkpoint.

mod list;
mod reset;

use clap::Subcommand;
use dcb_core::{Error, ProjectionCheckpoint, ProjectionStatus, postgres, sqlite};

use crate::failure::Failure;
use crate::output::Output;

#[derive(Subcommand)]
pub(crate) enum ProjectionsCommand {
    List(list::List),
    Reset(reset::Reset),
}

impl ProjectionsCommand {
    pub(crate) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::List(list) => list.run(output).await,
            Self::Reset(reset) => reset.run(output).await,
        }
    }
}

/// The projections of a place.
pub(crate) enum Projections {
    // Boxed, because it is much larger than the other variant.
    Database(Box<postgres::Projections>),
    File(sqlite::Projections),
}

impl Projections {
    /// Those without slices.
    async fn checkpoints(&mut self) -> Result<Vec<ProjectionCheckpoint>, Error> {
        match self {
            Self::Database(projections) => projections.checkpoints().await,
            Self::File(projections) => projections.checkpoints().await,
        }
    }

    /// The versions of the sliced ones.
    async fn versions(&mut self) -> Result<Vec<ProjectionStatus>, Error> {
        match self {
            Self::Database(projections) => projections.list().await,
            Self::File(projections) => projections.list().await,
        }
    }

    async fn reset(
        &mut self,
        name: &str,
        version: Option<u32>,
        tables: &[String],
    ) -> Result<(), Error> {
        match self {
            Self::Database(projections) => projections.reset(name, version, tables).await,
            Self::File(projections) => projections.reset(name, version, tables).await,
        }
    }
}
