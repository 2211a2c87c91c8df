//! Index keys in memory, in the order of the tag index.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Bound::Excluded;

use crate::bounds::Bounds;

/// A sorted set of pairs of key and position.
#[derive(Debug, Default)]
pub(super) struct KeySet(BTreeSet<(i64, i64)>);

impl KeySet {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, key: i64, position: i64) {
        self.0.insert((key, position));
    }

    pub(super) fn add_all(&mut self, others: &Self) {
        self.0.extend(&others.0);
    }

    /// The pairs from `first` on, inclusive.
    pub(super) fn from(&self, first: (i64, i64)) -> impl Iterator<Item = (i64, i64)> {
        self.0.range(first..).copied()
    }

    /// A copy with only the pairs after `position`.
    pub(super) fn after(&self, position: i64) -> Self {
        let pairs = self.0.iter().copied();
        Self(pairs.filter(|pair| pair.1 > position).collect())
    }

    /// The first position of a key within the bounds.
    pub(super) fn first(&self, key: i64, bounds: Bounds) -> Option<i64> {
        let mut positions = self.positions(key, bounds)?;
        if bounds.backwards {
            positions.next_back()
        } else {
            positions.next()
        }
    }

    /// Appends positions of a key within the bounds until `found` has `limit` entries.
    pub(super) fn collect(
        &self,
        key: i64,
        bounds: Bounds,
        limit: usize,
        found: &mut VecDeque<i64>,
    ) {
        let Some(positions) = self.positions(key, bounds) else {
            return;
        };
        let count = limit.saturating_sub(found.len());
        if bounds.backwards {
            found.extend(positions.rev().take(count));
        } else {
            found.extend(positions.take(count));
        }
    }

    /// The smallest key from `least` to `most`.
    pub(super) fn first_key(&self, least: i64, most: i64) -> Option<i64> {
        let (key, _) = *self.0.range((least, 0)..).next()?;
        (key <= most).then_some(key)
    }

    fn positions(&self, key: i64, bounds: Bounds) -> Option<impl DoubleEndedIterator<Item = i64>> {
        let ends = (Excluded((key, bounds.above)), Excluded((key, bounds.below)));
        // BTreeSet::range panics if the start is after the end.
        (!bounds.is_empty()).then(|| self.0.range(ends).map(|&(_, position)| position))
    }
}
