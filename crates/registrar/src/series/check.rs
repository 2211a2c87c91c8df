use std::fmt;

use serde::Serialize;
use tsdb::Db;

use super::snapshot::Snapshot;
use crate::failure::Failure;
use crate::output::Output;
use crate::place::Place;

/// Check the files of the series, and change nothing. `registrar serve series repair` repairs them.
#[derive(clap::Args)]
pub(crate) struct Check {
    /// The data folder of a server, or the folder of the series.
    place: Place,
}

#[derive(Serialize)]
struct Report {
    samples: u64,
    damage: Vec<Damage>,
}

#[derive(Serialize)]
struct Damage {
    file: String,
    offset: u64,
    bytes: u64,
    reason: String,
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} intact samples", self.samples)?;
        for damage in &self.damage {
            let Damage {
                file,
                offset,
                bytes,
                reason,
            } = damage;
            write!(formatter, "\n{file}: {reason}: {bytes} bytes at {offset}")?;
        }
        Ok(())
    }
}

impl Check {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let checked = Db::check_files(&Snapshot::of(&self.place.series()?)?)?;
        let damage: Vec<Damage> = checked
            .damage
            .iter()
            .map(|part| Damage {
                file: part.file.clone(),
                offset: part.offset,
                bytes: part.bytes,
                reason: part.reason.to_string(),
            })
            .collect();
        let parts = damage.len();
        output.print(&Report {
            samples: checked.samples,
            damage,
        })?;
        match parts {
            0 => Ok(()),
            _ => {
                output.flush()?;
                Err(Failure::unusable(format!("{parts} parts are damaged")))
            }
        }
    }
}
