use super::{KeptAs, StateOptions};
use crate::{Bookmark, Query, ReadOptions};

/// The reads that return the events of a projection, all from one snapshot of the log.
///
/// ```
/// use dcb_core::{Query, Reads};
///
/// # fn main() -> Result<(), dcb_core::Error> {
/// let orders = Query::builder().event_type("OrderPlaced").build()?;
/// let invoices = Query::builder().event_type("InvoiceCreated").build()?;
/// // Every order, and the last invoice.
/// let reads = Reads::every(orders).and(Reads::last(invoices));
/// # let _ = reads;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reads {
    /// The query of the forward read.
    pub(crate) every: Option<Query>,
    /// The queries of the backward reads, each for one event.
    pub(crate) last: Vec<Query>,
    /// The name of the state that a store keeps instead of the events.
    pub(crate) kept: Option<KeptAs>,
}

impl Reads {
    pub(super) fn none() -> Self {
        Self {
            every: None,
            last: Vec::new(),
            kept: None,
        }
    }

    /// Reads every event of the query.
    pub fn every(query: Query) -> Self {
        Self {
            every: Some(query),
            ..Self::none()
        }
    }

    /// Reads the last event of the query.
    pub fn last(query: Query) -> Self {
        Self {
            last: vec![query],
            ..Self::none()
        }
    }

    /// A store keeps the state of this type, name and version instead of the events. See
    /// [`Projector::keep`](crate::Projector::keep).
    #[must_use]
    pub fn kept_as<S: 'static>(mut self, name: impl Into<String>, version: u32) -> Self {
        self.kept = Some(KeptAs::new::<S>(name.into(), version));
        self
    }

    /// The store keeps the state of [`Reads::kept_as`] in its database too, if it has one. Without
    /// [`Reads::kept_as`], nothing changes. See [`Projection::stored`](crate::Projection::stored).
    #[must_use]
    pub fn stored(mut self, options: StateOptions) -> Self {
        if let Some(kept) = &mut self.kept {
            kept.stored = Some(options);
        }
        self
    }

    /// Both reads, without a kept state. Two forward reads become one, of the union of their queries.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.every = match (self.every, other.every) {
            (Some(query), Some(other)) => Some(query.or(other)),
            (query, other) => query.or(other),
        };
        self.last.extend(other.last);
        self.kept = None;
        self
    }

    /// The forward read of the events after `after`. Only a forward read refuses an `after` beyond
    /// the head. So if all reads are backward and there is an `after`, this returns a forward read
    /// of no events.
    pub(crate) fn forward(&self, after: Option<Bookmark>) -> Option<(&Query, ReadOptions)> {
        let options = ReadOptions::new().after(after);
        match (&self.every, after) {
            (Some(query), _) => Some((query, options)),
            (None, Some(_)) => self.last.first().map(|query| (query, options.limit(0))),
            (None, None) => None,
        }
    }

    /// The size of its parts that are not in the value itself.
    pub(crate) fn heap_bytes(&self) -> usize {
        let queries = self.every.iter().chain(&self.last);
        let lists = self.last.capacity() * size_of::<Query>();
        let kept = self.kept.as_ref().map_or(0, KeptAs::heap_bytes);
        lists + kept + queries.map(Query::heap_bytes).sum::<usize>()
    }

    /// The events that the state depends on.
    pub(crate) fn boundary(self) -> Query {
        let queries = self.every.into_iter().chain(self.last);
        queries.reduce(Query::or).unwrap_or_else(Query::all)
    }
}
