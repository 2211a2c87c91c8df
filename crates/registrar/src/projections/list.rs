use std::fmt;

use dcb_core::{Bookmark, EventStore as _, Position, ProjectionState};
use serde::Serialize;

use crate::failure::{Failure, Kind};
use crate::output::{Output, bold, printable};
use crate::place::{Access, Place};

/// List the kept projections, and how far each is behind the log.
#[derive(clap::Args)]
pub(crate) struct List {
    /// The database or file with the tables of the projections. A file gets the tables of checkpoints if it
    /// has none.
    place: Place,
    /// The log [default: the one in the same place, if it has one].
    #[arg(long, value_name = "PLACE")]
    log: Option<Place>,
}

/// A projection without slices, or a version of a sliced one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    projection: String,
    /// The state contains all events up to this position.
    position: u64,
    /// The positions of the log after it. `None` without a log.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<u64>,
    #[serde(flatten)]
    sliced: Option<Sliced>,
}

#[derive(Serialize)]
struct Sliced {
    version: u32,
    state: &'static str,
    slices: u32,
    /// The members that work on it now.
    members: u32,
    /// The events that wait to be replayed.
    parked: u64,
    /// The slices that have stopped.
    stopped: Vec<Stopped>,
}

#[derive(Serialize)]
struct Stopped {
    slice: u32,
    error: String,
}

impl fmt::Display for Listed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", bold(printable(&self.projection)))?;
        if let Some(sliced) = &self.sliced {
            write!(formatter, " version {} {}", sliced.version, sliced.state)?;
        }
        write!(formatter, " at {}", self.position)?;
        if let Some(behind) = self.behind {
            write!(formatter, ", {behind} behind")?;
        }
        let Some(sliced) = &self.sliced else {
            return Ok(());
        };
        let (slices, members, parked) = (sliced.slices, sliced.members, sliced.parked);
        write!(
            formatter,
            ", {slices} slices, {members} members, {parked} events parked"
        )?;
        for Stopped { slice, error } in &sliced.stopped {
            write!(
                formatter,
                "\nslice {slice} has stopped: {}",
                printable(error)
            )?;
        }
        Ok(())
    }
}

impl List {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let mut projections = self.place.projections().await?;
        let head = self.head().await?;
        // A head before the checkpoint is that of another log.
        let behind = |position: u64| head.and_then(|head| head.checked_sub(position));
        for checkpoint in projections.checkpoints().await? {
            let position = Position::number_or_zero(Bookmark::position_of(checkpoint.at));
            output.print(&Listed {
                projection: checkpoint.name,
                position,
                behind: behind(position),
                sliced: None,
            })?;
        }
        for version in projections.versions().await? {
            let position = Position::number_or_zero(version.position);
            let stopped = version.stopped.into_iter();
            output.print(&Listed {
                projection: version.name,
                position,
                behind: behind(position),
                sliced: Some(Sliced {
                    version: version.version,
                    state: match version.state {
                        ProjectionState::Current => "current",
                        ProjectionState::Retired => "retired",
                        _ => "building",
                    },
                    slices: version.slices,
                    members: version.members,
                    parked: version.parked,
                    stopped: stopped
                        .map(|(slice, error)| Stopped { slice, error })
                        .collect(),
                }),
            })?;
        }
        Ok(())
    }

    /// The last position of the log. `None` without events, or if the place of the projections has no log and
    /// no other place is named.
    async fn head(&self) -> Result<Option<u64>, Failure> {
        let opened = match &self.log {
            Some(log) => log.events(Access::Look).await?,
            None => match self.place.events(Access::Look).await {
                Ok(log) => log,
                Err(failed) if failed.kind == Kind::Unusable => return Ok(None),
                Err(failed) => return Err(failed),
            },
        };
        let head = opened.head().await;
        opened.close().await;
        Ok(Bookmark::position_of(head?).map(Position::get))
    }
}
