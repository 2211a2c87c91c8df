//! Merges the positions of several conjunctions into one ordered sequence.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use rusqlite::Result;

use super::alternatives::{Conjunction, alternatives};
use super::snapshot::Snapshot;
use super::tag_index::TagIndex;
use crate::Query;
use crate::bounds::Bounds;

/// How many positions of a conjunction are fetched at once. The number grows, so that a read of few
/// events stays cheap.
const FIRST_CHUNK: usize = 4;
const LAST_CHUNK: usize = 1024;
const CHUNK_GROWTH: usize = 4;

/// A k-way merge of the positions of a query's conjunctions, in read order and without duplicates.
pub(super) struct Merge<'s, 'q> {
    index: TagIndex<'s>,
    cursors: Vec<Cursor<'q>>,
    /// The next position of each cursor that is not exhausted, as (sort key, cursor index).
    next: BinaryHeap<Reverse<(i64, usize)>>,
    backwards: bool,
}

/// Iterates over the positions of one conjunction.
struct Cursor<'q> {
    conjunction: Conjunction<'q>,
    /// The part of the read that is not fetched yet.
    remaining: Bounds,
    /// Positions that are fetched but not returned yet.
    buffer: VecDeque<i64>,
    chunk_size: usize,
    exhausted: bool,
}

impl<'s, 'q> Merge<'s, 'q> {
    /// Merges the positions within the bounds. The query must not be [`Query::all`].
    pub(super) fn new(
        snapshot: &'s Snapshot<'_>,
        query: &'q Query,
        bounds: Bounds,
    ) -> Result<Self> {
        let mut merge = Self {
            index: TagIndex::new(snapshot, bounds),
            cursors: Vec::new(),
            next: BinaryHeap::new(),
            backwards: bounds.backwards,
        };
        for alternative in alternatives(query) {
            let cursors = &mut merge.cursors;
            merge
                .index
                .for_each_conjunction(alternative, |_, conjunction| {
                    cursors.push(Cursor::new(conjunction, bounds));
                    Ok(())
                })?;
        }
        for (number, cursor) in merge.cursors.iter_mut().enumerate() {
            if let Some(position) = cursor.next(&mut merge.index)? {
                let order = order(position, bounds.backwards);
                merge.next.push(Reverse((order, number)));
            }
        }
        Ok(merge)
    }

    fn next(&mut self) -> Result<Option<i64>> {
        let Some(&Reverse((first, _))) = self.next.peek() else {
            return Ok(None);
        };
        let first = order(first, self.backwards);
        // Advance every cursor at this position, because an event may match several alternatives.
        self.skip_past(first)?;
        Ok(Some(first))
    }

    /// Appends positions until there are `limit`.
    pub(super) fn fill(&mut self, positions: &mut Vec<i64>, limit: usize) -> Result<()> {
        while positions.len() < limit
            && let Some(position) = self.next()?
        {
            positions.push(position);
        }
        Ok(())
    }

    /// Skips all positions up to this one, which need not be in the sequence.
    pub(super) fn skip_past(&mut self, position: i64) -> Result<()> {
        let passed = order(position, self.backwards);
        while let Some(mut top) = self.next.peek_mut()
            && top.0.0 <= passed
        {
            let cursor = &mut self.cursors[top.0.1];
            cursor.skip_past(position);
            match cursor.next(&mut self.index)? {
                Some(position) => top.0.0 = order(position, self.backwards),
                None => {
                    PeekMut::pop(top);
                }
            }
        }
        Ok(())
    }
}

/// A sort key that increases in the direction of the read. Applying it twice returns the position.
fn order(position: i64, backwards: bool) -> i64 {
    if backwards { -position } else { position }
}

impl<'q> Cursor<'q> {
    fn new(conjunction: Conjunction<'q>, bounds: Bounds) -> Self {
        Self {
            conjunction,
            remaining: bounds,
            buffer: VecDeque::new(),
            chunk_size: FIRST_CHUNK,
            exhausted: false,
        }
    }

    fn skip_past(&mut self, position: i64) {
        let backwards = self.remaining.backwards;
        let passed = order(position, backwards);
        let is_passed = |&next: &i64| order(next, backwards) <= passed;
        while self.buffer.front().is_some_and(is_passed) {
            self.buffer.pop_front();
        }
        // If the buffer is not empty, `remaining` already starts after its last position.
        if self.buffer.is_empty() {
            self.remaining = self.remaining.past(position);
        }
    }

    fn next(&mut self, index: &mut TagIndex<'_>) -> Result<Option<i64>> {
        if self.buffer.is_empty() && !self.exhausted {
            self.fetch(index)?;
        }
        Ok(self.buffer.pop_front())
    }

    fn fetch(&mut self, index: &mut TagIndex<'_>) -> Result<()> {
        if self.conjunction.len() == 1 {
            index.collect(
                self.conjunction,
                self.remaining,
                self.chunk_size,
                &mut self.buffer,
            )?;
            self.exhausted = self.buffer.len() < self.chunk_size;
            self.chunk_size = (self.chunk_size * CHUNK_GROWTH).min(LAST_CHUNK);
        } else {
            // The search for common positions of several keys finds one position at a time.
            let next = index.first_common_position(self.conjunction, self.remaining)?;
            self.buffer.extend(next);
            self.exhausted = self.buffer.is_empty();
        }
        if let Some(&last) = self.buffer.back() {
            self.remaining = self.remaining.past(last);
        }
        Ok(())
    }
}
