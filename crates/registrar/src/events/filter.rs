use dcb_core::{EventType, Query, QueryItem, Tag};

use crate::failure::Failure;

/// Which events a command is about.
#[derive(clap::Args)]
pub(super) struct Filter {
    /// Only events of this type; may be repeated, and one of them is enough.
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<EventType>,
    /// Only events with this tag; may be repeated, and an event needs all of them.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<Tag>,
    /// A query of several items as JSON: {"items":[{"types":["A"],"tags":["b:1"]}]}.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["types", "tags"])]
    query: Option<String>,
}

impl Filter {
    pub(super) fn query(&self) -> Result<Query, Failure> {
        if let Some(query) = &self.query {
            let query = serde_json::from_str(query);
            return query.map_err(|failed| Failure::input(format!("--query: {failed}")));
        }
        let item = QueryItem::new(self.types.clone(), self.tags.clone());
        Ok(Query::new([item])?)
    }
}
