//! The JSON form of queries.

use dcb_core::{EventType, Query, QueryItem, Tag};
use serde::Deserialize;

use super::json::{parse_parameter, write_texts};
use crate::error::ApiError;

/// Maximum number of type and tag pairs over all items of a query. Each pair may cost an index
/// lookup, and the lookups for an append's condition run while the log is locked.
const MAX_PAIRS: usize = 10_000;

/// A query. Without items it matches all events.
#[derive(Debug, Default, Deserialize)]
pub(super) struct QueryDto {
    items: Option<Vec<ItemDto>>,
}

#[derive(Debug, Deserialize)]
struct ItemDto {
    types: Option<Vec<String>>,
    tags: Option<Vec<String>>,
}

impl QueryDto {
    /// Parses a URL parameter. A missing or empty one matches all events.
    pub(super) fn of_parameter(parameter: Option<&str>) -> Result<Query, ApiError> {
        match parameter {
            None | Some("") => Ok(Query::all()),
            Some(json) => parse_parameter::<Self>("query", json)?.into_query("query"),
        }
    }

    /// Checks the query. `path` is its path in the request, for errors.
    pub(super) fn into_query(self, path: &str) -> Result<Query, ApiError> {
        let items = self.items.unwrap_or_default();
        if items.is_empty() {
            return Ok(Query::all());
        }
        check(path, &items)?;
        let items: Result<Vec<QueryItem>, ApiError> = items
            .into_iter()
            .enumerate()
            .map(|(index, item)| item.into_item(&format!("{path}.items[{index}]")))
            .collect();
        Ok(Query::new(items?)?)
    }
}

fn check(path: &str, items: &[ItemDto]) -> Result<(), ApiError> {
    // This check runs before types and tags are built, so a huge query costs little.
    let pairs = items.iter().map(ItemDto::pairs).sum::<usize>();
    let too_many = |field: String, actual: usize, max: usize, unit: &str| {
        let message = format!("{field} has {actual} {unit}; the maximum is {max}");
        Err(ApiError::invalid_field(&field, message))
    };
    if items.len() > Query::MAX_ITEMS {
        let (actual, max) = (items.len(), Query::MAX_ITEMS);
        return too_many(format!("{path}.items"), actual, max, "entries");
    }
    if pairs > MAX_PAIRS {
        let unit = "pairs of a type and a tag";
        return too_many(format!("{path}.items"), pairs, MAX_PAIRS, unit);
    }
    Ok(())
}

impl ItemDto {
    fn pairs(&self) -> usize {
        // An empty list matches everything and still costs one lookup.
        let count = |names: &Option<Vec<String>>| names.as_ref().map_or(0, Vec::len).max(1);
        count(&self.types).saturating_mul(count(&self.tags))
    }

    fn into_item(self, path: &str) -> Result<QueryItem, ApiError> {
        let types = checked(path, "types", self.types, EventType::new)?;
        let tags = checked(path, "tags", self.tags, Tag::new)?;
        Ok(QueryItem::new(types, tags))
    }
}

fn checked<T>(
    path: &str,
    list: &str,
    names: Option<Vec<String>>,
    check: impl Fn(String) -> Result<T, dcb_core::Error>,
) -> Result<Vec<T>, ApiError> {
    let names = names.unwrap_or_default().into_iter().enumerate();
    let checked = names.map(|(index, name)| {
        check(name).map_err(|error| match error {
            dcb_core::Error::Invalid { problem, .. } => {
                let field = format!("{path}.{list}[{index}]");
                ApiError::invalid_field(&field, format!("{field} {problem}"))
            }
            error => error.into(),
        })
    });
    checked.collect()
}

/// Writes a query in the form that [`QueryDto`] parses.
pub(super) fn write_query(query: &Query, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"items\":[");
    for (index, item) in query.items().iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"types\":");
        write_texts(item.types().iter().map(EventType::as_str), out);
        out.extend_from_slice(b",\"tags\":");
        write_texts(item.tags().iter().map(Tag::as_str), out);
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
}
