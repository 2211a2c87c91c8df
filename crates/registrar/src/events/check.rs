use std::fmt;

use dcb_core::{EventStore as _, HandlerError, SequencedEvent, Upcasts, check_versions};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{Output, bold, printable};
use crate::place::{Access, Place};

/// List each type and version of events that was ever written, and check that the first of each has JSON
/// as data. A service decodes them with its own code by `dcb_core::check_versions`. Reads the whole log.
#[derive(clap::Args)]
pub(crate) struct Check {
    /// The log.
    place: Place,
    /// Data need not be JSON.
    #[arg(long)]
    any_data: bool,
}

#[derive(Serialize)]
struct Version {
    #[serde(rename = "type")]
    event_type: String,
    version: u32,
    events: u64,
    first: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (event_type, version) = (printable(&self.event_type), self.version);
        write!(formatter, "{} version {version}: ", bold(event_type))?;
        write!(
            formatter,
            "{} events, the first at {}",
            self.events, self.first
        )?;
        match &self.failed {
            Some(failed) => write!(formatter, ", can't be read: {}", printable(failed)),
            None => Ok(()),
        }
    }
}

impl Check {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let store = self.place.events(Access::Look).await?;
        let any_data = self.any_data;
        let decode = move |event: &SequencedEvent| match any_data {
            true => Ok(()),
            false => is_json(event),
        };
        let versions = check_versions(&store, &Upcasts::new(), decode).await?;
        store.close().await;
        let mut unreadable = 0;
        for version in versions {
            unreadable += usize::from(version.failed.is_some());
            output.print(&Version {
                event_type: version.event_type,
                version: version.version,
                events: version.events,
                first: version.first.get(),
                failed: version.failed.map(|failed| failed.to_string()),
            })?;
        }
        match unreadable {
            0 => Ok(()),
            _ => {
                output.flush()?;
                Err(Failure::refused(format!(
                    "{unreadable} versions can't be read"
                )))
            }
        }
    }
}

fn is_json(event: &SequencedEvent) -> Result<(), HandlerError> {
    event.json::<serde::de::IgnoredAny>()?;
    Ok(())
}
