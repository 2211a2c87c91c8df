//! Queries, and the rule that decides whether an event matches one.
//!
//! [`QueryItem::matches`] is the rule. The planner, SQLite and the client's filters of reads call it.
//! It is written again in these places, where an event is not at hand as a value:
//!
//! | Place | Role | Equal to the rule, by test |
//! |---|---|---|
//! | `memory/matcher.rs` | decides; the oracle, on purpose without shared code | `broken_stores`, the suite's `history` |
//! | `schema/dcb/postgres/functions/first_match.sql` | decides on the server | `append_statements.rs`, the suite's `condition` and `history` |
//! | `postgres/statements/mod.rs`, `events` | selects the events of a read | the suite's `query`, `read` and `history` |
//! | `schema/dcb/postgres/functions/append.sql` | rules out by one key | `append_statements.rs` |
//! | `schema/dcb/postgres/queries/insert_by_key.sql` | rules out by one key | `append_statements.rs`, `optimistic.rs` |
//! | `postgres/recent_tags/mod.rs` | rules out by the keys in memory | `append_statements.rs`, `recent_tags.rs` |
//! | `sqlite/tag_index.rs` | finds candidates, which the rule decides | the suite's `condition` and `history` |
//!
//! A search that rules out events, or finds candidates, uses one consequence of the rule: a
//! matching event has the key of each tag of the item. Keys are hashes, so an event that has the
//! keys may still not match.

use std::fmt::Display;

use crate::text::invalid;
use crate::{Error, Event, EventType, Problem, SequencedEvent, Tag};

/// Selects events: all of them, or those that match at least one of its items.
///
/// A query means the same in reads, conditions and projections. Use [`Query::all`] to select all
/// events; a query without items can't be built.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "form::Query")
)]
pub struct Query {
    /// Empty for all events.
    items: Vec<QueryItem>,
}

/// One alternative of a query. An event matches if its type is one of `types` and it carries all of
/// `tags`. An empty list matches any event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(from = "form::QueryItem")
)]
pub struct QueryItem {
    types: Vec<EventType>,
    tags: Vec<Tag>,
}

impl Query {
    /// The maximum number of items in [`Query::new`]. A union built by [`Query::or`] may have more.
    pub const MAX_ITEMS: usize = 1000;

    /// Every event of the log.
    pub fn all() -> Self {
        Self { items: Vec::new() }
    }

    /// The events that match at least one of `items`.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `query.items` if there are no items, or more than
    /// [`Query::MAX_ITEMS`].
    pub fn new(items: impl Into<Vec<QueryItem>>) -> Result<Self, Error> {
        let mut items = items.into();
        if items.is_empty() {
            return Err(invalid("query.items")(Problem::Empty));
        }
        if items.len() > Self::MAX_ITEMS {
            let problem = Problem::TooMany {
                max: Self::MAX_ITEMS,
                actual: items.len(),
            };
            return Err(invalid("query.items")(problem));
        }
        if items.iter().any(QueryItem::is_any) {
            // An item that matches every event makes the others redundant, and empty means all.
            items.clear();
        }
        Ok(Self { items })
    }

    /// Builds a query from type and tag names.
    pub fn builder() -> QueryBuilder {
        QueryBuilder::default()
    }

    /// The union of both queries.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        if self.is_all() || other.is_all() {
            return Self::all();
        }
        for item in other.items {
            // Projections over the same entity often share items.
            if !self.items.contains(&item) {
                self.items.push(item);
            }
        }
        self
    }

    /// Whether this is [`Query::all`].
    pub fn is_all(&self) -> bool {
        self.items.is_empty()
    }

    /// The alternatives; empty for [`Query::all`].
    pub fn items(&self) -> &[QueryItem] {
        &self.items
    }

    /// The size of its parts that are not in the value itself.
    pub(crate) fn heap_bytes(&self) -> usize {
        let items = self.items.capacity() * size_of::<QueryItem>();
        items + self.items.iter().map(QueryItem::heap_bytes).sum::<usize>()
    }

    /// Whether an event that is not in a log yet matches.
    pub(crate) fn selects(&self, event: &Event) -> bool {
        self.is_all()
            || self.items.iter().any(|item| {
                item.matches(
                    |wanted| event.is_of_type(wanted),
                    |wanted| event.has_tag(wanted),
                )
            })
    }

    /// Whether `event` matches.
    pub fn matches(&self, event: &SequencedEvent) -> bool {
        self.is_all()
            || self.items.iter().any(|item| {
                item.matches(
                    |wanted| event.is_of_type(wanted),
                    |wanted| event.has_tag(wanted),
                )
            })
    }
}

impl QueryItem {
    /// The size of its parts that are not in the value itself.
    fn heap_bytes(&self) -> usize {
        /// A text has a place in its list, and the allocator adds to both.
        const TEXT: usize = size_of::<String>() + 16;
        let types = self.types.iter().map(|name| name.as_str().len());
        let tags = self.tags.iter().map(|tag| tag.as_str().len());
        types.chain(tags).map(|text| text + TEXT).sum()
    }

    /// Matches events of one of `types` that carry all of `tags`.
    pub fn new(types: impl Into<Vec<EventType>>, tags: impl Into<Vec<Tag>>) -> Self {
        let (mut types, mut tags) = (types.into(), tags.into());
        // Canonical order, so that items with the same meaning are equal.
        types.sort_unstable();
        types.dedup();
        tags.sort_unstable();
        tags.dedup();
        Self { types, tags }
    }

    /// The types, sorted; empty for any.
    pub fn types(&self) -> &[EventType] {
        &self.types
    }

    /// The tags, sorted; empty for any.
    pub fn tags(&self) -> &[Tag] {
        &self.tags
    }

    fn is_any(&self) -> bool {
        self.types.is_empty() && self.tags.is_empty()
    }

    /// Whether an event matches, given predicates for its type and its tags.
    pub(crate) fn matches(
        &self,
        is_of_type: impl Fn(&str) -> bool,
        has_tag: impl Fn(&str) -> bool,
    ) -> bool {
        let of_type =
            self.types.is_empty() || self.types.iter().any(|wanted| is_of_type(wanted.as_str()));
        of_type && self.tags.iter().all(|wanted| has_tag(wanted.as_str()))
    }
}

/// Builds a [`Query`]. [`QueryBuilder::build`] reports the first problem.
///
/// ```
/// # fn main() -> Result<(), dcb_core::Error> {
/// use dcb_core::Query;
///
/// let query = Query::builder()
///     .event_types(["CourseOffered", "EnrollmentCompleted"]).tag_pair("course_id", "c1")
///     .or()
///     .event_type("EnrollmentCompleted").tag_pair("student_id", "s1")
///     .build()?;
/// assert_eq!(query.items().len(), 2);
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
#[must_use]
pub struct QueryBuilder {
    items: Vec<QueryItem>,
    types: Vec<EventType>,
    tags: Vec<Tag>,
    problem: Option<Error>,
}

impl QueryBuilder {
    /// Allows this type in the current item.
    pub fn event_type(mut self, name: &str) -> Self {
        match EventType::new(name) {
            Ok(event_type) => self.types.push(event_type),
            Err(problem) => self.note(problem),
        }
        self
    }

    /// Allows these types in the current item.
    pub fn event_types<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        names.into_iter().fold(self, Self::event_type)
    }

    /// Requires this tag in the current item.
    pub fn tag(self, tag: impl Display) -> Self {
        self.checked_tag(Tag::new(tag.to_string()))
    }

    /// Requires the tag `key:value` in the current item.
    pub fn tag_pair(self, key: &str, value: impl Display) -> Self {
        self.checked_tag(Tag::pair(key, value))
    }

    /// Requires these tags in the current item.
    pub fn tags<T: Display>(self, tags: impl IntoIterator<Item = T>) -> Self {
        tags.into_iter().fold(self, |builder, tag| builder.tag(tag))
    }

    /// Ends the current item and starts the next.
    pub fn or(mut self) -> Self {
        let types = std::mem::take(&mut self.types);
        let tags = std::mem::take(&mut self.tags);
        if types.is_empty() && tags.is_empty() {
            self.note(invalid("query.items")(Problem::Empty));
        }
        self.items.push(QueryItem::new(types, tags));
        self
    }

    /// Builds the query.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the first invalid field, or `query.items` if an item has neither
    /// type nor tag. To select every event, use [`Query::all`].
    pub fn build(self) -> Result<Query, Error> {
        let built = self.or();
        match built.problem {
            Some(problem) => Err(problem),
            None => Query::new(built.items),
        }
    }

    fn checked_tag(mut self, tag: Result<Tag, Error>) -> Self {
        match tag {
            Ok(tag) => self.tags.push(tag),
            Err(problem) => self.note(problem),
        }
        self
    }

    fn note(&mut self, problem: Error) {
        self.problem.get_or_insert(problem);
    }
}

/// The JSON forms before they are checked, for example
/// `{"items":[{"types":["CourseOffered"],"tags":["course_id:c1"]}]}`.
#[cfg(feature = "serde")]
mod form {
    use crate::{Error, EventType, Tag};

    /// No items for [`super::Query::all`]. Unknown fields are refused: a misspelled one would widen
    /// the query.
    #[derive(serde::Deserialize)]
    #[serde(rename = "Query", deny_unknown_fields)]
    pub(super) struct Query {
        items: Vec<super::QueryItem>,
    }

    #[derive(serde::Deserialize)]
    #[serde(rename = "QueryItem", deny_unknown_fields)]
    pub(super) struct QueryItem {
        #[serde(default)]
        types: Vec<EventType>,
        #[serde(default)]
        tags: Vec<Tag>,
    }

    impl TryFrom<Query> for super::Query {
        type Error = Error;

        fn try_from(form: Query) -> Result<Self, Error> {
            match form.items.is_empty() {
                true => Ok(Self::all()),
                false => Self::new(form.items),
            }
        }
    }

    impl From<QueryItem> for super::QueryItem {
        fn from(form: QueryItem) -> Self {
            Self::new(form.types, form.tags)
        }
    }
}
