use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{Output, bold};
use crate::place::Place;

/// Print how many series there are, and the times of the first and the last sample.
#[derive(clap::Args)]
pub(crate) struct ShowStats {
    /// The data folder of a server, or the folder of the series.
    place: Place,
}

#[derive(Serialize)]
struct Stats {
    series: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<Timestamp>,
}

impl fmt::Display for Stats {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} series", bold(self.series))?;
        match self.first.zip(self.last) {
            Some((first, last)) => write!(formatter, "\nsamples from {first} to {last}"),
            None => Ok(()),
        }
    }
}

impl ShowStats {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let db = super::open(&self.place)?;
        let (first, last) = db.extent().range_ms.unzip();
        let time = |ms: Option<i64>| ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
        Ok(output.print(&Stats {
            series: db.series_count(),
            first: time(first),
            last: time(last),
        })?)
    }
}
