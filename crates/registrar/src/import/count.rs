use std::collections::BTreeMap;
use std::fmt;

use dcb_core::Event;
use serde::Serialize;

use crate::output::printable;

/// The events that an import has appended, or a dry run would append.
#[derive(Default, Serialize)]
pub(crate) struct Counts {
    /// The position in the source after which this run began: earlier runs have imported the rest.
    pub(crate) after: u64,
    pub(crate) events: u64,
    /// Events without tags. Only a query by type finds them.
    pub(crate) untagged: u64,
    /// Entries that can't be imported.
    pub(crate) faults: u64,
    /// Events of each type.
    pub(crate) types: BTreeMap<String, u64>,
    /// Tags by the part before the first colon.
    pub(crate) tags: BTreeMap<String, u64>,
}

impl Counts {
    pub(crate) fn add(&mut self, event: &Event) {
        self.events += 1;
        *self.types.entry(event.event_type().to_owned()).or_default() += 1;
        self.untagged += u64::from(event.tags().next().is_none());
        for tag in event.tags() {
            let key = tag.split(':').next().unwrap_or_default();
            *self.tags.entry(key.to_owned()).or_default() += 1;
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} events, {} of them without tags",
            self.events, self.untagged
        )?;
        if self.after > 0 {
            write!(formatter, "; earlier runs imported through {}", self.after)?;
        }
        if self.faults > 0 {
            write!(formatter, "; {} entries can't be imported", self.faults)?;
        }
        for (event_type, events) in &self.types {
            write!(formatter, "\n{events} of type {}", printable(event_type))?;
        }
        for (key, tags) in &self.tags {
            write!(formatter, "\n{tags} tags {}:…", printable(key))?;
        }
        Ok(())
    }
}
