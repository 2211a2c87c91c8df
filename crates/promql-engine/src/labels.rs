//! Operations on labels that only queries need.

use crate::{LabelError, Labels, METRIC_NAME};

/// The labels without the metric's name, and without its type and unit, which Prometheus can add.
pub(super) fn without_name(labels: &Labels) -> Labels {
    labels.filtered(|label| !is_of_metric(label.name))
}

/// Whether the label describes the metric, not the origin of the values.
pub(super) fn is_of_metric(name: &str) -> bool {
    matches!(name, METRIC_NAME | "__type__" | "__unit__")
}

/// The labels with one label set. An empty value removes that label.
pub(super) fn with_label(labels: &Labels, name: &str, value: &str) -> Result<Labels, LabelError> {
    let mut builder = Labels::builder();
    for label in labels.iter().filter(|label| label.name != name) {
        builder.label(label.name, label.value);
    }
    builder.label(name, value).build()
}

/// The value of a label, `""` if it is absent.
pub(super) fn value_of<'a>(labels: &'a Labels, name: &str) -> &'a str {
    labels.get(name).unwrap_or_default()
}
