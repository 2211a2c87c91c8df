/// The bounds of a queue and of its batches.
///
/// A bound of zero counts as one. One request above a byte bound is still taken: alone in the
/// queue, or alone in its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests in one batch. 512 by default: beyond it a batch gains little and its callers wait.
    pub max_batch_requests: usize,
    /// Bytes in one batch, as the committer sizes them. 1 MiB by default.
    pub max_batch_bytes: usize,
    /// Requests in the queue, those in flight not counted. 8,192 by default, 16 full batches.
    /// `submit` waits its turn for room, `try_submit` fails.
    pub max_queued_requests: usize,
    /// Bytes in the queue, those in flight not counted. 16 MiB by default.
    pub max_queued_bytes: usize,
    /// How often in a row the writer gives way to other tasks before a batch without anybody coming:
    /// so the callers it has just answered can join the next one, also where they run on several
    /// threads; and those who come together with a first caller its own, where callers came together
    /// of late. It stops as soon as as many have come as it has answered, or a batch is full. A caller
    /// that is alone never gives way: it would take some ten microseconds. 1 by default.
    ///
    /// A writer that does not know whom to wait for, such as that of a
    /// [`BlockingQueue`](crate::BlockingQueue), gives way so many times at most, and its first caller
    /// never.
    ///
    /// With 0 the next commit starts before the callers of the last one are answered, and their
    /// work overlaps it. That suits callers who come independently of each other. Callers who
    /// submit again as soon as they are answered then split into two groups that take turns, with
    /// twice the commits.
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
