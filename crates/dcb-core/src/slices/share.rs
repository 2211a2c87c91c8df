//! The part of a read that one worker applies in one transaction.

use super::SliceKey;
use super::model::HeldSlice;
use crate::{Bookmark, Error, EventBatch, Position, SequencedEvent};

/// Events of some slices, in the order of the log, and the checkpoint after them.
#[derive(Clone, Debug)]
pub struct Share {
    pub(crate) slices: Vec<HeldSlice>,
    pub(crate) events: Vec<SequencedEvent>,
    pub(crate) to: Bookmark,
    pub(crate) key: SliceKey,
    /// The number of slices of the projection.
    pub(crate) total: u32,
}

impl Share {
    /// The slice of an event.
    pub(crate) fn slice_of(&self, event: &SequencedEvent) -> Result<u32, Error> {
        self.key.slice(event, self.total)
    }

    /// The share of each of its slices alone.
    pub(crate) fn by_slice(&self) -> Result<Vec<Self>, Error> {
        let mut shares: Vec<Self> = Vec::new();
        for slice in &self.slices {
            shares.push(Self {
                slices: vec![slice.clone()],
                events: Vec::new(),
                ..self.clone_empty()
            });
        }
        for event in &self.events {
            let number = self.slice_of(event)?;
            let share = shares
                .iter_mut()
                .find(|share| share.slices[0].slice == number);
            if let Some(share) = share {
                share.events.push(event.clone());
            }
        }
        Ok(shares)
    }

    /// The first event alone, and the others. `None` without events.
    pub(crate) fn split_first(&self) -> Option<(Self, Self)> {
        let (first, rest) = self.events.split_first()?;
        let one = Self {
            events: vec![first.clone()],
            to: match rest {
                [] => self.to,
                _ => first.bookmark(),
            },
            slices: self.slices.clone(),
            ..self.clone_empty()
        };
        let rest = Self {
            events: rest.to_vec(),
            slices: self.moved(one.to),
            ..self.clone_empty()
        };
        Some((one, rest))
    }

    /// Its slices once they are applied up to `to`.
    pub(crate) fn moved(&self, to: Bookmark) -> Vec<HeldSlice> {
        let moved = |slice: &HeldSlice| HeldSlice {
            stored: Some(to),
            ..slice.clone()
        };
        self.slices.iter().map(moved).collect()
    }

    fn clone_empty(&self) -> Self {
        Self {
            slices: Vec::new(),
            events: Vec::new(),
            to: self.to,
            key: self.key.clone(),
            total: self.total,
        }
    }
}

/// Divides a read among workers. A worker gets the events of the slices that fall to it, without those
/// that a slice has handled already, and moves the checkpoints of these slices. The checkpoint of a
/// slice without events stays, unless it is `due` positions behind.
pub(super) fn divide(
    batch: EventBatch,
    held: &[HeldSlice],
    key: &SliceKey,
    total: u32,
    workers: usize,
    due: u64,
) -> Result<Vec<Share>, Error> {
    let through = batch.through;
    let mut place = vec![None; total as usize];
    for (index, slice) in held.iter().enumerate() {
        place[slice.slice as usize] = Some(index);
    }
    let behind = |slice: &HeldSlice| {
        let stored = Position::number_or_zero(Bookmark::position_of(slice.stored));
        through.position.get().saturating_sub(stored)
    };
    let mut moves: Vec<bool> = held.iter().map(|slice| behind(slice) >= due).collect();
    let mut events: Vec<Vec<SequencedEvent>> = vec![Vec::new(); workers];
    for event in batch.events {
        let slice = key.slice(&event, total)?;
        let Some(index) = place[slice as usize] else {
            continue;
        };
        if Bookmark::position_of(held[index].stored) < Some(event.position()) {
            moves[index] = true;
            events[index % workers].push(event);
        }
    }
    let slices_of = |worker: usize| {
        let of_worker = held.iter().zip(&moves).skip(worker).step_by(workers);
        let moving = of_worker.filter(|(slice, moves)| **moves && behind(slice) > 0);
        moving.map(|(slice, _)| slice.clone()).collect()
    };
    let shares = events
        .into_iter()
        .enumerate()
        .map(|(worker, events)| Share {
            slices: slices_of(worker),
            events,
            to: through,
            key: key.clone(),
            total,
        });
    Ok(shares.filter(|share| !share.slices.is_empty()).collect())
}

/// The part of a read up to a bookmark that no slice may pass.
pub(super) fn cut(mut batch: EventBatch, stop_at: Option<Bookmark>) -> EventBatch {
    if let Some(stop_at) = stop_at.filter(|at| at.position < batch.through.position) {
        batch
            .events
            .retain(|event| event.position() <= stop_at.position);
        batch.through = stop_at;
    }
    batch
}
