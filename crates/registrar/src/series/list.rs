use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use tsdb::Labels;
use tsdb::promql::parse_selector;

use crate::failure::Failure;
use crate::output::{Output, printable};
use crate::place::Place;

/// List the series.
#[derive(clap::Args)]
pub(crate) struct List {
    /// The data folder of a server, or the folder of the series.
    place: Place,
    /// Only the series of this PromQL selector, for example {job="api"}.
    #[arg(long, value_name = "SELECTOR")]
    select: Option<String>,
}

#[derive(Serialize)]
#[serde(transparent)]
struct Listed<'l> {
    pairs: BTreeMap<&'l str, &'l str>,
    #[serde(skip)]
    labels: &'l Labels,
}

impl fmt::Display for Listed<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&printable(&self.labels.to_string()))
    }
}

impl List {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let matchers = match self.select {
            Some(selector) => {
                parse_selector(&selector).map_err(|failed| Failure::input(failed.to_string()))?
            }
            None => Vec::new(),
        };
        for labels in &super::open(&self.place)?.list_series(&matchers) {
            let pairs = labels
                .iter()
                .map(|label| (label.name, label.value))
                .collect();
            output.print(&Listed { pairs, labels })?;
        }
        Ok(())
    }
}
