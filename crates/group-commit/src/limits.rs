/// The bounds of a queue and of its batches.
///
/// A bound of zero requests counts as one. A request above a byte bound is still accepted, alone in
/// the queue and alone in its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of requests in one batch. 512 by default: a larger batch gains little and
    /// makes its callers wait.
    pub max_batch_requests: usize,
    /// Maximum number of bytes in one batch, by the committer's sizes. 1 MiB by default.
    pub max_batch_bytes: usize,
    /// Maximum number of queued requests, without those in flight. 8,192 by default: 16 full
    /// batches. When the queue is full, `submit` waits for space and `try_submit` fails.
    pub max_queued_requests: usize,
    /// Maximum number of queued bytes, without those in flight. 16 MiB by default.
    pub max_queued_bytes: usize,
    /// How many times in a row the leader yields to other tasks without a new arrival before it
    /// takes a batch. 1 by default.
    ///
    /// The yields let the callers of the last batch join the next one, even if they run on several
    /// threads. If recent batches had several callers, the leader also yields before its first
    /// batch. It stops yielding once the number of new requests equals the number that it has just
    /// answered, or once a batch is full. For a lone caller the leader never yields, because one
    /// yield costs about 10 us.
    ///
    /// In a [`BlockingQueue`](crate::BlockingQueue), a caller that takes over from another leader
    /// yields at most this many times, and a caller that finds the writer free never yields.
    ///
    /// With 0, the next commit starts before the callers of the last one are answered, so their
    /// work overlaps the commit. This suits independent callers. Callers that submit again at once
    /// form two groups that take turns, which doubles the number of commits.
    pub fill_yields: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_batch_requests: 512,
            max_batch_bytes: 1 << 20,
            max_queued_requests: 8_192,
            max_queued_bytes: 16 << 20,
            fill_yields: 1,
        }
    }
}
