//! Queries in the form that the statements take. Pure: no I/O.

use postgres_store::{Column, Element};

use super::text_form::write_array;
use crate::bounds::Bounds;
use crate::{EventType, Position, Query};

/// The way to answer a query. Each shape has its own statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Every event, by position.
    All,
    /// One type, by the index on types.
    Type,
    /// Several types without tags, by the index on types.
    Types,
    /// One type with one tag, by the index on tags.
    Tag,
    /// Any other query, as a list of probes. A probe is one type (NULL: any) with a set of tags,
    /// and each item has one probe per type.
    Probes,
    /// [`Shape::Types`] by a scan of at most [`SHORT_RANGE`] positions. In a longer range it finds
    /// the head and no events.
    TypesInRange,
    /// [`Shape::Tag`] by the same scan.
    TagInRange,
    /// The events of the types of [`Shape::Probes`] by the same scan. The client checks the tags.
    ProbesInRange,
}

impl Shape {
    pub(super) const ALL: [Self; 8] = [
        Self::All,
        Self::Type,
        Self::Types,
        Self::Tag,
        Self::Probes,
        Self::TypesInRange,
        Self::TagInRange,
        Self::ProbesInRange,
    ];

    /// The shapes that can count events: all that are [exact](Shape::is_exact).
    pub(super) const COUNTED: [Self; 7] = *Self::ALL.first_chunk().expect("one is left out");

    /// The shape that answers the same query in a short range. `None` if it would be no faster.
    fn in_short_range(self) -> Option<Self> {
        match self {
            Self::Types => Some(Self::TypesInRange),
            Self::Tag => Some(Self::TagInRange),
            Self::Probes => Some(Self::ProbesInRange),
            _ => None,
        }
    }

    /// Whether the rows are exactly the events of the query. If not, the client filters them.
    pub(super) fn is_exact(self) -> bool {
        self != Self::ProbesInRange
    }

    /// Whether the shape can answer within these bounds if the log has this head.
    pub(super) fn fits(self, bounds: Bounds, head: Option<Position>) -> bool {
        match self {
            Self::TypesInRange | Self::TagInRange | Self::ProbesInRange => bounds.are_short(head),
            _ => true,
        }
    }
}

/// The parameters `$4` and `$5` of a read.
#[derive(Debug)]
pub(super) enum Wanted<'q> {
    Nothing,
    Names {
        event_type: &'q str,
        tag: Option<&'q str>,
    },
    Types(Column),
    Probes {
        types: Column,
        tags: Column,
    },
}

/// A query by shape and values.
#[derive(Debug)]
pub(super) struct Selection<'q> {
    /// The shape for ranges of any length.
    pub(super) general: Shape,
    pub(super) wanted: Wanted<'q>,
}

impl<'q> Selection<'q> {
    pub(super) fn new(query: &'q Query) -> Self {
        if query.is_all() {
            return Self {
                general: Shape::All,
                wanted: Wanted::Nothing,
            };
        }
        if let [item] = query.items()
            && let ([event_type], [] | [_]) = (item.types(), item.tags())
        {
            let tag = item.tags().first().map(|tag| tag.as_str());
            let general = if tag.is_some() {
                Shape::Tag
            } else {
                Shape::Type
            };
            let wanted = Wanted::Names {
                event_type: event_type.as_str(),
                tag,
            };
            return Self { general, wanted };
        }
        if query.items().iter().all(|item| item.tags().is_empty()) {
            let wanted = Wanted::Types(distinct_types(query));
            return Self {
                general: Shape::Types,
                wanted,
            };
        }
        let (types, tags) = probes(query);
        Self {
            general: Shape::Probes,
            wanted: Wanted::Probes { types, tags },
        }
    }

    /// The shape to use within these bounds, given the head seen last; `None` if none was. If the
    /// answer carries another head, check whether the shape [fits](Shape::fits).
    pub(super) fn shape(&self, bounds: Bounds, head: Option<Position>) -> Shape {
        head.filter(|head| bounds.are_short(Some(*head)))
            .and_then(|_| self.general.in_short_range())
            .unwrap_or(self.general)
    }

    /// The shape to use to count events, given the same arguments as [`Selection::shape`].
    pub(super) fn counted_shape(&self, bounds: Bounds, head: Option<Position>) -> Shape {
        let shape = self.shape(bounds, head);
        if Shape::COUNTED.contains(&shape) {
            shape
        } else {
            self.general
        }
    }
}

/// The types of all items, each once.
fn distinct_types(query: &Query) -> Column {
    let mut types: Vec<&EventType> = query.items().iter().flat_map(|item| item.types()).collect();
    types.sort_unstable();
    types.dedup();
    let mut column = Column::new(Element::Text);
    for event_type in types {
        column.push(event_type.as_str().as_bytes());
    }
    column
}

/// The probes of a query other than `all`, in two columns: types and tags.
pub(super) fn probes(query: &Query) -> (Column, Column) {
    let (mut types, mut tags) = (Column::new(Element::Text), Column::new(Element::Text));
    for_each_probe(query, |event_type, probe_tags, _| {
        types.push_optional_text(event_type);
        tags.push_with(|buffer| write_array(probe_tags.iter().map(|tag| tag.as_str()), buffer));
    });
    (types, tags)
}

/// Calls `visit` with each probe: its type (`None`: any), its tags (empty: any), and the number of
/// tags in the items before its item. The query `all` is one probe without type and tags.
pub(super) fn for_each_probe<'q>(
    query: &'q Query,
    mut visit: impl FnMut(Option<&'q str>, &'q [crate::Tag], usize),
) {
    if query.is_all() {
        visit(None, &[], 0);
    }
    let mut tags_before = 0;
    for item in query.items() {
        if item.types().is_empty() {
            visit(None, item.tags(), tags_before);
        }
        for event_type in item.types() {
            visit(Some(event_type.as_str()), item.tags(), tags_before);
        }
        tags_before += item.tags().len();
    }
}

/// The most positions in a range that is scanned by position. Scanning this many events costs about
/// as much as finding twenty of them by an index.
pub(super) const SHORT_RANGE: i64 = 256;

impl Bounds {
    /// Whether a log with this head has at most [`SHORT_RANGE`] positions within the bounds.
    pub(super) fn are_short(self, head: Option<Position>) -> bool {
        // MAX - 1, because 1 is added below.
        let head = i64::try_from(Position::number_or_zero(head)).unwrap_or(i64::MAX - 1);
        (head + 1).min(self.below) - self.above <= SHORT_RANGE
    }
}
