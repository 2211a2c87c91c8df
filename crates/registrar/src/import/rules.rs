//! The rules of an import: a small TOML file.
//!
//! ```toml
//! [types]                       # other names for types
//! "com.shop.OrderPlaced" = "OrderPlaced"
//!
//! [[tags]]
//! types = ["OrderPlaced"]       # default: all types
//! tag = "order:{orderId}"       # a path in the data; an array gives a tag for each element
//!
//! [[tags]]
//! tag = "customer:{customer.id}"
//! optional = true               # no tag if the data lacks the path
//!
//! [[tags]]
//! tag = "stream:{$stream}"      # also {$category}, {$id} and {$metadata.key}
//! ```

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use dcb_core::Event;
use serde::Deserialize;
use serde_json::Value;

use super::json_path::texts;
use super::{Entry, EntryError, fault};
use crate::failure::Failure;

/// How entries become events.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rules {
    /// New names of types.
    #[serde(default)]
    types: HashMap<String, String>,
    #[serde(default)]
    tags: Vec<TagRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TagRule {
    /// The types, by their new names, that the rule is for. All if there is none.
    #[serde(default)]
    types: Vec<String>,
    tag: Template,
    #[serde(default)]
    optional: bool,
}

/// A text with one path in braces, or none.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Template {
    before: String,
    path: Option<String>,
    after: String,
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let Some((before, rest)) = text.split_once('{') else {
            return Ok(Self {
                before: text,
                path: None,
                after: String::new(),
            });
        };
        let (path, after) = rest
            .split_once('}')
            .filter(|(path, after)| !path.is_empty() && !after.contains('{'))
            .ok_or_else(|| format!("{text:?}: expected one path in braces"))?;
        Ok(Self {
            before: before.to_owned(),
            path: Some(path.to_owned()),
            after: after.to_owned(),
        })
    }
}

impl Rules {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let failed = |reason: String| Failure::input(format!("{}: {reason}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        toml::from_str(&text).map_err(|error| failed(error.to_string()))
    }

    /// The event of an entry.
    pub(super) fn event(&self, entry: &Entry) -> Result<Event, EntryError> {
        let event_type = self.types.get(&entry.event_type);
        let event_type = event_type.unwrap_or(&entry.event_type);
        let mut tags = entry.tags.clone();
        let rules = self.tags.iter();
        let mut rules = rules
            .filter(|rule| rule.types.is_empty() || rule.types.contains(event_type))
            .peekable();
        // Data need not be JSON if no rule looks into it.
        let data = match rules.peek() {
            Some(_) => serde_json::from_slice(&entry.data).unwrap_or(Value::Null),
            None => Value::Null,
        };
        for rule in rules {
            match rule.tag.tags(entry, &data) {
                Some(found) => tags.extend(found),
                None if rule.optional => {}
                None => {
                    let path = rule.tag.path.as_deref().unwrap_or_default();
                    let reason = format!("the {event_type} has no text or number at {path:?}");
                    return Err(fault(&entry.place, reason));
                }
            }
        }
        let builder = Event::builder(event_type)
            .tags(tags)
            .data(entry.data.clone());
        let builder = entry
            .metadata
            .iter()
            .fold(builder, |builder, (key, value)| {
                builder.metadata(key, value)
            });
        let builder = entry
            .id
            .into_iter()
            .fold(builder, |builder, id| builder.id(id));
        let times = entry.recorded_at.into_iter();
        let builder = times.fold(builder, |builder, time| builder.recorded_at(time));
        builder
            .build()
            .map_err(|refused| fault(&entry.place, refused))
    }
}

impl Template {
    /// The tags that the entry gives; `None` if it lacks the path.
    fn tags(&self, entry: &Entry, data: &Value) -> Option<Vec<String>> {
        let values = match &self.path {
            None => return Some(vec![self.before.clone()]),
            Some(path) => match path.strip_prefix('$') {
                Some(name) => vec![of_entry(entry, name)?],
                None => texts(data, path)?,
            },
        };
        let (before, after) = (&self.before, &self.after);
        let tags = values.iter().map(|value| format!("{before}{value}{after}"));
        Some(tags.collect())
    }
}

/// A text that the source has beside the data. A stream is a category and, after the first hyphen, an id.
fn of_entry(entry: &Entry, name: &str) -> Option<String> {
    if let Some(key) = name.strip_prefix("metadata.") {
        let mut entries = entry.metadata.iter();
        return entries
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.clone());
    }
    let stream = entry.stream.as_deref()?;
    let parts = stream.split_once('-');
    match name {
        "stream" => Some(stream.to_owned()),
        "category" => Some(parts.map_or(stream, |(category, _)| category).to_owned()),
        "id" => parts.map(|(_, id)| id.to_owned()),
        _ => None,
    }
}
