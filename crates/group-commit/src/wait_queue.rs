//! The requests that wait, in order of arrival. The bounds decide how many of them are in the
//! queue.

use std::collections::VecDeque;

use crate::limits::Limits;

/// Identifies one waiting item. Later arrivals have larger tickets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// Waiting items in order of arrival. Items at the front are in the queue, up to its bounds. The
/// others wait for space and move up without being woken.
#[derive(Debug)]
pub(crate) struct WaitQueue<T> {
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

impl<T> WaitQueue<T> {
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

    /// All waiting items, in order of arrival.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|entry| &entry.item)
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

    /// Removes one item. Finding it takes O(log n). Then the items before it or after it move up,
    /// whichever are fewer.
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

    /// Removes the next batch: from the front, within the bounds of a batch.
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
                // A batch always takes the first item, even one above the byte bound.
                *index == 0 || bytes <= limits.max_batch_bytes
            })
            .count()
    }

    /// Whether an item of `bytes` fits into the queue. A sum that overflows does not fit, so
    /// `queued_bytes` is always exact.
    fn fits(&self, bytes: usize, limits: &Limits) -> bool {
        let sum = self.queued_bytes.checked_add(bytes);
        // An item above the byte bound must fit into an empty queue, or it would wait forever.
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
