//! The waiting line: who waits, in which order, and what of it the bounds let into the queue.

use std::collections::VecDeque;

use crate::limits::Limits;

/// A place in the line. Later arrivals have larger tickets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// Waiting items in order of arrival. The first of them, as far as the bounds reach, are in the
/// queue; those behind wait for room and move up by themselves, so that nobody has to be woken.
#[derive(Debug)]
pub(crate) struct Line<T> {
    entries: VecDeque<Entry<T>>,
    next_ticket: u64,
    /// How many of `entries`, from the front, are in the queue.
    queued: usize,
    queued_bytes: usize,
}

#[derive(Debug)]
struct Entry<T> {
    ticket: Ticket,
    bytes: usize,
    item: T,
}

impl<T> Line<T> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            next_ticket: 0,
            queued: 0,
            queued_bytes: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    pub(crate) fn waiting_for_room(&self) -> usize {
        self.entries.len() - self.queued
    }

    pub(crate) fn front(&self) -> Option<(Ticket, &T)> {
        self.entries
            .front()
            .map(|entry| (entry.ticket, &entry.item))
    }

    /// Whether an item of `bytes` would enter the queue at once.
    pub(crate) fn has_room(&self, bytes: usize, limits: &Limits) -> bool {
        self.waiting_for_room() == 0 && self.fits(bytes, limits)
    }

    pub(crate) fn push(&mut self, bytes: usize, item: T, limits: &Limits) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.entries.push_back(Entry {
            ticket,
            bytes,
            item,
        });
        self.move_up(limits);
        ticket
    }

    /// Takes one item out of the line: O(log n) to find it, and a move of the shorter side.
    pub(crate) fn withdraw(&mut self, ticket: Ticket, limits: &Limits) -> Option<T> {
        let index = self
            .entries
            .binary_search_by_key(&ticket, |entry| entry.ticket)
            .ok()?;
        let entry = self.entries.remove(index)?;
        if index < self.queued {
            self.queued -= 1;
            self.queued_bytes -= entry.bytes;
        }
        self.move_up(limits);
        Some(entry.item)
    }

    /// Whether the queue holds a batch that one more item could not join.
    pub(crate) fn fills_a_batch(&self, limits: &Limits) -> bool {
        self.queued >= limits.max_batch_requests.max(1)
            || self.queued_bytes >= limits.max_batch_bytes
            || self.waiting_for_room() > 0
    }

    /// Takes the next batch out of the queue: from the front, within the bounds of a batch.
    pub(crate) fn take_batch<B: FromIterator<T>>(&mut self, limits: &Limits) -> B {
        let len = self.batch_len(limits);
        let batch = self
            .entries
            .drain(..len)
            .map(|entry| {
                self.queued_bytes -= entry.bytes;
                entry.item
            })
            .collect();
        self.queued -= len;
        self.move_up(limits);
        batch
    }

    fn batch_len(&self, limits: &Limits) -> usize {
        let mut bytes = 0_usize;
        self.entries
            .iter()
            .take(self.queued.min(limits.max_batch_requests.max(1)))
            .enumerate()
            .take_while(|(index, entry)| {
                bytes = bytes.saturating_add(entry.bytes);
                *index == 0 || bytes <= limits.max_batch_bytes
            })
            .count()
    }

    /// A sum beyond a `usize` fits nowhere, so that `queued_bytes` is always the exact sum.
    fn fits(&self, bytes: usize, limits: &Limits) -> bool {
        let sum = self.queued_bytes.checked_add(bytes);
        self.queued == 0
            || (self.queued < limits.max_queued_requests
                && sum.is_some_and(|sum| sum <= limits.max_queued_bytes))
    }

    fn move_up(&mut self, limits: &Limits) {
        while let Some(entry) = self.entries.get(self.queued) {
            let bytes = entry.bytes;
            if !self.fits(bytes, limits) {
                return;
            }
            self.queued += 1;
            self.queued_bytes += bytes;
        }
    }
}
