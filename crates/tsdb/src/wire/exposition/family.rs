use crate::{Metadata, MetricKind};

/// The suffixes of the series that make up a histogram or a summary.
const SUFFIXES: [&str; 3] = ["_bucket", "_sum", "_count"];

/// The metric to which a sample's name belongs: the name without its suffix for a part of a
/// histogram or a summary, otherwise the name itself.
pub(super) fn family_of<'a>(
    name: &'a str,
    metadata: impl Fn(&str) -> Option<&'a Metadata>,
) -> &'a str {
    let composed = |family: &&str| {
        metadata(family).is_some_and(|metadata| {
            matches!(metadata.kind, MetricKind::Histogram | MetricKind::Summary)
        })
    };
    SUFFIXES
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix).filter(composed))
        .unwrap_or(name)
}
