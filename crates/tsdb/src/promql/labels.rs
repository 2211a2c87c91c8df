//! Operations on labels that only queries need.

use crate::{Error, Labels, METRIC_NAME};

/// The labels without the metric's name.
pub(super) fn without_name(labels: &Labels) -> Labels {
    labels.filtered(|label| label.name != METRIC_NAME)
}

/// The labels with one label set. An empty value removes that label.
pub(super) fn with_label(labels: &Labels, name: &str, value: &str) -> Result<Labels, Error> {
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
