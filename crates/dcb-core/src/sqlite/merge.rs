//! The positions of several trails as one sequence.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use rusqlite::Result;

use super::alternatives::{Bounds, Trail, alternatives};
use super::moment::Moment;
use super::tag_index::TagIndex;
use crate::Query;

/// How many positions of a trail are looked up at once, at first and at most.
const FIRST_AHEAD: usize = 4;
const MOST_AHEAD: usize = 1024;

/// The positions that any trail of a query leads to, in the direction of the read, each once.
pub(super) struct Merge<'m, 'q> {
    index: TagIndex<'m>,
    lanes: Vec<Lane<'q>>,
    /// The next position of each lane that has one, as (order, lane).
    next: BinaryHeap<Reverse<(i64, usize)>>,
    backwards: bool,
}

/// One trail, and how far it was walked.
struct Lane<'q> {
    trail: Trail<'q>,
    left: Bounds,
    ahead: VecDeque<i64>,
    chunk: usize,
    ended: bool,
}

impl<'m, 'q> Merge<'m, 'q> {
    /// The positions within the bounds; the query is not [`Query::all`].
    pub(super) fn new(moment: &'m Moment<'_>, query: &'q Query, bounds: Bounds) -> Result<Self> {
        let mut merge = Self {
            index: TagIndex::new(moment, bounds.backwards)?,
            lanes: Vec::new(),
            next: BinaryHeap::new(),
            backwards: bounds.backwards,
        };
        for alternative in alternatives(query) {
            let lanes = &mut merge.lanes;
            merge.index.for_each_trail(alternative, |_, trail| {
                lanes.push(Lane::new(trail, bounds));
                Ok(())
            })?;
        }
        for (number, lane) in merge.lanes.iter_mut().enumerate() {
            if let Some(position) = lane.next(&mut merge.index)? {
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
        // Several lanes may lead to the same event.
        self.skip_past(first)?;
        Ok(Some(first))
    }

    /// Adds the next positions until there are `most`.
    pub(super) fn fill(&mut self, positions: &mut Vec<i64>, most: usize) -> Result<()> {
        while positions.len() < most
            && let Some(position) = self.next()?
        {
            positions.push(position);
        }
        Ok(())
    }

    /// Goes on after this position, which need not be one of those looked for.
    pub(super) fn skip_past(&mut self, position: i64) -> Result<()> {
        let passed = order(position, self.backwards);
        while let Some(mut top) = self.next.peek_mut()
            && top.0.0 <= passed
        {
            let lane = &mut self.lanes[top.0.1];
            lane.skip_past(position);
            match lane.next(&mut self.index)? {
                Some(position) => top.0.0 = order(position, self.backwards),
                None => {
                    PeekMut::pop(top);
                }
            }
        }
        Ok(())
    }
}

/// A number that increases in the direction of the read, and back.
fn order(position: i64, backwards: bool) -> i64 {
    if backwards { -position } else { position }
}

impl<'q> Lane<'q> {
    fn new(trail: Trail<'q>, bounds: Bounds) -> Self {
        Self {
            trail,
            left: bounds,
            ahead: VecDeque::new(),
            chunk: FIRST_AHEAD,
            ended: false,
        }
    }

    fn skip_past(&mut self, position: i64) {
        let backwards = self.left.backwards;
        let passed = order(position, backwards);
        let is_passed = |&next: &i64| order(next, backwards) <= passed;
        while self.ahead.front().is_some_and(is_passed) {
            self.ahead.pop_front();
        }
        if self.ahead.is_empty() {
            self.left = self.left.past(position);
        }
    }

    fn next(&mut self, index: &mut TagIndex<'_>) -> Result<Option<i64>> {
        if self.ahead.is_empty() && !self.ended {
            self.look_ahead(index)?;
        }
        Ok(self.ahead.pop_front())
    }

    fn look_ahead(&mut self, index: &mut TagIndex<'_>) -> Result<()> {
        if self.trail.len() == 1 {
            index.collect(self.trail, self.left, self.chunk, &mut self.ahead)?;
            self.ended = self.ahead.len() < self.chunk;
            self.chunk = (self.chunk * 4).min(MOST_AHEAD);
        } else {
            self.ahead.extend(index.meet(self.trail, self.left)?);
            self.ended = self.ahead.is_empty();
        }
        if let Some(&last) = self.ahead.back() {
            self.left = self.left.past(last);
        }
        Ok(())
    }
}
