//! Parts of an event that the wire has and the store lacks, as entries of the event's metadata.
//!
//! | entry | value | set |
//! |---|---|---|
//! | `dcb-grpc.tracking` | `POSITION SOURCE` | if the append tracked a position |
//! | `dcb-grpc.tags` | for each tag as it was sent, its index in the stored set | if the tags were not sorted and unique |
//!
//! The store keeps the last position of each source, and tags as a set.

use dcb_core::Tracking;

use crate::proto::{MetadataEntry, TrackingInfo};

const TRACKING: &str = "dcb-grpc.tracking";
const TAGS: &str = "dcb-grpc.tags";

/// Whether a key is one of this module's.
pub(crate) fn is_reserved(key: &str) -> bool {
    key == TRACKING || key == TAGS
}

pub(crate) fn tracking_entry(tracking: &Tracking) -> (&'static str, String) {
    let value = format!("{} {}", tracking.position(), tracking.source());
    (TRACKING, value)
}

/// The order of the tags; `None` if it is that of the store.
pub(crate) fn tags_entry(sent: &[String]) -> Option<(&'static str, String)> {
    if sent.is_sorted_by(|one, next| one < next) {
        return None;
    }
    let mut set: Vec<&String> = sent.iter().collect();
    set.sort_unstable();
    set.dedup();
    let index = |tag| set.binary_search(&tag).unwrap_or_default().to_string();
    let order: Vec<String> = sent.iter().map(index).collect();
    Some((TAGS, order.join(" ")))
}

/// An event's metadata and tags as its sender gave them, and the tracked position.
pub(crate) struct Sent {
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Vec<MetadataEntry>,
    pub(crate) tracking_info: Option<TrackingInfo>,
}

impl Sent {
    /// From what the store has. An entry that another program wrote in another form counts as missing.
    pub(crate) fn of<'a>(
        tags: impl Iterator<Item = &'a str>,
        metadata: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut sent = Self {
            tags: tags.map(str::to_owned).collect(),
            metadata: Vec::new(),
            tracking_info: None,
        };
        for (key, value) in metadata {
            match key {
                TRACKING => sent.tracking_info = tracking(value),
                TAGS => sent.tags = in_order(value, &sent.tags).unwrap_or(sent.tags),
                _ => sent.metadata.push(MetadataEntry {
                    key: key.to_owned(),
                    value: value.to_owned(),
                }),
            }
        }
        sent
    }
}

fn tracking(value: &str) -> Option<TrackingInfo> {
    let (position, source) = value.split_once(' ')?;
    Some(TrackingInfo {
        source: source.to_owned(),
        position: position.parse().ok()?,
    })
}

fn in_order(order: &str, set: &[String]) -> Option<Vec<String>> {
    let tag = |index: &str| set.get(index.parse::<usize>().ok()?).cloned();
    order.split(' ').map(tag).collect()
}
