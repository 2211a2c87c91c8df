//! Attributes as labels.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::message::{AnyValue, KeyValue};
use super::names::label_name;

/// Labels by name. Later insertions win.
pub(super) type LabelMap = BTreeMap<String, String>;

/// The labels of some attributes. Attributes with the same name as labels are joined by semicolons,
/// in the order of their keys. `Err` has the first key that can't be a name.
pub(super) fn labels(attributes: &[KeyValue]) -> Result<LabelMap, &str> {
    let mut sorted: Vec<&KeyValue> = attributes.iter().collect();
    sorted.sort_by(|one, other| one.key.cmp(&other.key));
    let mut labels = LabelMap::new();
    for attribute in sorted {
        let name = label_name(&attribute.key).ok_or(attribute.key.as_str())?;
        let value = text(attribute.value.as_deref());
        labels
            .entry(name)
            .and_modify(|known| {
                known.push(';');
                known.push_str(&value);
            })
            .or_insert(value);
    }
    Ok(labels)
}

/// The value of an attribute as text: strings as they are, bytes as base64, lists as JSON.
pub(super) fn text(value: Option<&AnyValue>) -> String {
    if let Some(number) = value.and_then(|value| value.double_value) {
        // A whole number is written without a fraction. This branch also writes NaN and infinities,
        // which JSON has no number for.
        return number.to_string();
    }
    match value.map(json) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        Some(value) => value.to_string(),
    }
}

fn json(value: &AnyValue) -> Value {
    if let Some(text) = &value.string_value {
        Value::from(text.as_str())
    } else if let Some(bool) = value.bool_value {
        Value::from(bool)
    } else if let Some(number) = value.int_value {
        Value::from(number)
    } else if let Some(number) = value.double_value {
        Value::from(number)
    } else if let Some(list) = &value.array_value {
        list.values.iter().map(json).collect()
    } else if let Some(list) = &value.kvlist_value {
        let entries = list.values.iter().map(|entry| {
            let value = entry.value.as_deref().map_or(Value::Null, json);
            (entry.key.clone(), value)
        });
        Value::Object(entries.collect::<Map<_, _>>())
    } else if let Some(bytes) = &value.bytes_value {
        Value::from(STANDARD.encode(bytes))
    } else {
        Value::Null
    }
}
