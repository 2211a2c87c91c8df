//! The JSON form of queries.

use dcb_core::{EventType, Query, QueryItem, Tag};
use serde::Deserialize;

use crate::input::Object;

/// Maximum number of type and tag pairs over all items of a query. Each pair may cost an index
/// lookup, and the lookups for an append's condition run while the log is locked.
const MAX_PAIRS: usize = 10_000;

/// A query of a request. Without items it matches all events, as it does for the clients of this
/// interface; the core's own JSON form requires the list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueryDto {
    items: Option<Items>,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<Object<ItemDto>>")]
struct Items(Query);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemDto {
    types: Option<Vec<EventType>>,
    tags: Option<Vec<Tag>>,
}

impl QueryDto {
    pub(super) fn into_query(self) -> Query {
        self.items.map_or_else(Query::all, |Items(query)| query)
    }
}

impl TryFrom<Vec<Object<ItemDto>>> for Items {
    type Error = String;

    fn try_from(items: Vec<Object<ItemDto>>) -> Result<Self, String> {
        if items.is_empty() {
            return Ok(Self(Query::all()));
        }
        let pairs = items.iter().map(|Object(item)| item.pairs()).sum::<usize>();
        if pairs > MAX_PAIRS {
            let unit = "pairs of a type and a tag";
            return Err(format!("has {pairs} {unit}; the maximum is {MAX_PAIRS}"));
        }
        let items = items.into_iter().map(|Object(item)| item.into_item());
        let query =
            Query::new(items.collect::<Vec<QueryItem>>()).map_err(|failed| failed.to_string());
        query.map(Self)
    }
}

impl ItemDto {
    fn pairs(&self) -> usize {
        // An empty list matches everything and still costs one lookup.
        let types = self.types.as_ref().map_or(0, Vec::len).max(1);
        let tags = self.tags.as_ref().map_or(0, Vec::len).max(1);
        types.saturating_mul(tags)
    }

    fn into_item(self) -> QueryItem {
        QueryItem::new(
            self.types.unwrap_or_default(),
            self.tags.unwrap_or_default(),
        )
    }
}
