use std::fmt;

use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;
use crate::place::Place;

/// Let a kept projection start over: its checkpoint goes back to the beginning, and its tables are emptied in the same
/// transaction. A service that runs meanwhile goes on from the beginning.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("state").required(true).args(["empty", "keep_state"]))]
pub(crate) struct Reset {
    /// The database or file with the tables of the projection.
    place: Place,
    /// The name of the projection.
    name: String,
    /// The version of a sliced projection.
    #[arg(long, value_name = "NUMBER")]
    version: Option<u32>,
    /// Empty this table; name each table of the projection.
    #[arg(long, value_name = "TABLE")]
    empty: Vec<String>,
    /// Empty no table, because the service does, or because its handler can handle events again.
    #[arg(long)]
    keep_state: bool,
}

#[derive(Serialize)]
struct Done {
    projection: String,
    emptied: Vec<String>,
}

impl fmt::Display for Done {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, tables) = (&self.projection, self.emptied.len());
        write!(formatter, "{name} starts over, {tables} tables are empty")
    }
}

impl Reset {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let mut projections = self.place.projections().await?;
        let reset = projections.reset(&self.name, self.version, &self.empty);
        reset.await?;
        Ok(output.print(&Done {
            projection: self.name,
            emptied: self.empty,
        })?)
    }
}
