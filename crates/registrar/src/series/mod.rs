mod check;
mod list;
mod query;
mod snapshot;
mod stats;

use clap::Subcommand;
use tsdb::{Db, Durability, OpenOptions};

use crate::failure::Failure;
use crate::output::Output;
use crate::place::Place;
use snapshot::Snapshot;

#[derive(Subcommand)]
pub(crate) enum SeriesCommand {
    Check(check::Check),
    List(list::List),
    Query(query::QuerySeries),
    Stats(stats::ShowStats),
}

impl SeriesCommand {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::Check(check) => check.run(output),
            Self::List(list) => list.run(output),
            Self::Query(query) => query.run(output),
            Self::Stats(stats) => stats.run(output),
        }
    }
}

/// Opens the series as they are in the files now. A server may go on using the folder, because this
/// process writes to memory only.
fn open(place: &Place) -> Result<Db, Failure> {
    let folder = place.series()?;
    let snapshot = Snapshot::of(&folder)?;
    let options = OpenOptions {
        durability: Durability::WriteThrough { sync_every: None },
        ..OpenOptions::default()
    };
    Ok(Db::open_on(snapshot, options, |_| {})?)
}
