use std::fmt;

use dcb_core::{EventStore as _, Query, ReadOptions, Upcasts, check_versions};
use jiff::Timestamp;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{Output, bold, printable};
use crate::place::{Access, Place};

/// Print how many events a log has, when the last was recorded, and the upstream positions that it tracks.
#[derive(clap::Args)]
pub(crate) struct ShowStats {
    /// The log.
    place: Place,
    /// Count the events of each type too, which reads the whole log.
    #[arg(long)]
    types: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    backend: &'static str,
    events: u64,
    /// The last event: its position and its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_recorded_at: Option<Timestamp>,
    tracked: Vec<Tracked>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    types: Vec<TypeCount>,
}

#[derive(Serialize)]
struct Tracked {
    source: String,
    position: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TypeCount {
    #[serde(rename = "type")]
    event_type: String,
    events: u64,
}

impl fmt::Display for Stats {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} events in {}",
            bold(self.events),
            self.backend
        )?;
        if let Some(head) = &self.head {
            write!(formatter, "\nhead {head}")?;
        }
        if let Some(time) = self.last_recorded_at {
            write!(formatter, "\nlast recorded at {time}")?;
        }
        for Tracked { source, position } in &self.tracked {
            write!(formatter, "\ntracked {} at {position}", printable(source))?;
        }
        for TypeCount { event_type, events } in &self.types {
            write!(formatter, "\n{events} {}", printable(event_type))?;
        }
        Ok(())
    }
}

impl ShowStats {
    pub(super) async fn run(self, output: &mut Output) -> Result<(), Failure> {
        let store = self.place.events(Access::Look).await?;
        let newest = ReadOptions::new().backwards().limit(1);
        let last = store.query(&Query::all(), newest).await?;
        let last_recorded_at = last.events.first().map(|event| event.recorded_at());
        let tracked = store.all_tracked().await?.into_iter();
        let stats = Stats {
            backend: store.health().await?.backend,
            events: last.head.map_or(0, |head| head.position.get()),
            head: last.head.map(|head| head.to_string()),
            last_recorded_at: last_recorded_at.and_then(|time| Timestamp::try_from(time).ok()),
            tracked: tracked
                .map(|tracking| Tracked {
                    source: tracking.source().to_owned(),
                    position: tracking.position(),
                })
                .collect(),
            types: match self.types {
                true => count_types(&store).await?,
                false => Vec::new(),
            },
        };
        store.close().await;
        Ok(output.print(&stats)?)
    }
}

async fn count_types(store: &dcb_core::AnyStore) -> Result<Vec<TypeCount>, Failure> {
    let versions = check_versions(store, &Upcasts::new(), |_| Ok(())).await?;
    let mut types: Vec<TypeCount> = Vec::new();
    // Ordered by type, so versions of one type are neighbours.
    for version in versions {
        match types
            .last_mut()
            .filter(|last| last.event_type == version.event_type)
        {
            Some(last) => last.events += version.events,
            None => types.push(TypeCount {
                event_type: version.event_type,
                events: version.events,
            }),
        }
    }
    Ok(types)
}
