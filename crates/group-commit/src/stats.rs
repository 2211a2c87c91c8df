/// Counters of one queue, read together under one lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Batches committed so far. Commits that bisect a refused batch are not counted.
    pub batches: u64,
    /// Requests in those batches.
    pub requests: u64,
    /// Requests in the largest of those batches.
    pub largest_batch: usize,
    /// Requests withdrawn so far, because their caller was dropped or timed out while they were
    /// queued.
    pub withdrawn: u64,
    /// Requests in the queue now, without those in flight.
    pub queued: usize,
    /// Bytes in the queue now.
    pub queued_bytes: usize,
    /// Requests that wait for space in the queue now.
    pub waiting_for_room: usize,
}
