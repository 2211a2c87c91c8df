/// Counters of one queue at one moment, all read under one lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Batches taken so far. The reruns of a refused batch are not counted.
    pub batches: u64,
    /// Requests in those batches.
    pub requests: u64,
    /// Requests in the largest of those batches.
    pub largest_batch: usize,
    /// Requests withdrawn so far: cancelled or timed out while queued.
    pub withdrawn: u64,
    /// Requests in the queue now, those in flight not counted.
    pub queued: usize,
    /// Bytes in the queue now.
    pub queued_bytes: usize,
    /// Requests that wait for room in the queue now.
    pub waiting_for_room: usize,
}
