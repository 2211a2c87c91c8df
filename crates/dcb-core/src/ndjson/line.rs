use serde::{Deserialize, Serialize};

use super::content::EntryError;
use super::event_record::EventRecord;
use crate::Tracking;

/// A line of an export.
pub(super) enum Line<'a> {
    Event(Box<EventRecord<'a>>),
    Tracked(Tracking),
}

/// The line of a tracked position. Its key comes first.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrackedLine {
    tracked: TrackedRecord,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrackedRecord {
    source: String,
    position: u64,
}

impl<'a> Line<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, EntryError> {
        let inside = text.trim_start().strip_prefix('{').unwrap_or_default();
        if !inside.trim_start().starts_with("\"tracked\"") {
            return Ok(Self::Event(serde_json::from_str(text)?));
        }
        let TrackedLine { tracked } = serde_json::from_str(text)?;
        Ok(Self::Tracked(Tracking::new(
            tracked.source,
            tracked.position,
        )?))
    }
}

/// Writes the line of a tracked position, without a line feed.
pub(super) fn write_tracked(
    out: &mut impl std::io::Write,
    tracking: &Tracking,
) -> serde_json::Result<()> {
    let (source, position) = (tracking.source().to_owned(), tracking.position());
    let tracked = TrackedRecord { source, position };
    serde_json::to_writer(out, &TrackedLine { tracked })
}
