use crate::{Metadata, MetricKind};

/// The endings of the series that a histogram or a summary consists of.
const PARTS: [&str; 3] = ["_bucket", "_sum", "_count"];

/// The metric to which a sample's name belongs: the name itself, or for a part of a histogram or of
/// a summary what is before its ending.
pub(super) fn family_of<'a>(
    name: &'a str,
    metadata: impl Fn(&str) -> Option<&'a Metadata>,
) -> &'a str {
    let composed = |family: &&str| {
        metadata(family).is_some_and(|metadata| {
            matches!(metadata.kind, MetricKind::Histogram | MetricKind::Summary)
        })
    };
    PARTS
        .iter()
        .find_map(|part| name.strip_suffix(part).filter(composed))
        .unwrap_or(name)
}
