//! A resource: the labels that it gives to all its series, and `target_info`.

use super::attributes::{self, LabelMap, text};
use super::message::KeyValue;

/// The metric with the attributes of a resource.
pub(super) const TARGET_INFO: &str = "target_info";
/// The attributes that become `job` and `instance`.
const IDENTIFYING: [&str; 3] = [NAMESPACE, NAME, INSTANCE];
const NAMESPACE: &str = "service.namespace";
const NAME: &str = "service.name";
const INSTANCE: &str = "service.instance.id";

/// The labels `job` and `instance`, as far as the resource has them.
pub(super) fn identity(attributes: &[KeyValue]) -> Vec<(&'static str, String)> {
    let find = |key: &str| {
        let attribute = attributes.iter().find(|attribute| attribute.key == key)?;
        Some(text(attribute.value.as_deref()))
    };
    let job = find(NAME).map(|name| match find(NAMESPACE) {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name,
    });
    let labels = [("job", job), ("instance", find(INSTANCE))];
    labels
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The labels of `target_info`, without those of the identity. `None` if there is nothing to tell.
pub(super) fn info(attributes: &[KeyValue]) -> Option<LabelMap> {
    let others = attributes
        .iter()
        .filter(|attribute| !IDENTIFYING.contains(&attribute.key.as_str()));
    let others: Vec<KeyValue> = others.cloned().collect();
    let labels = attributes::labels(&others).ok()?;
    (!labels.is_empty()).then_some(labels)
}
