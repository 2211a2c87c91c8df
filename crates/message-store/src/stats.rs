use crate::Listener;

/// Counters of a store since it was opened, for export as metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Transactions that committed a batch of writes.
    pub commits: u64,
    /// Writes that stored new messages. A repeated write of stored messages does not count.
    pub writes: u64,
    /// Messages that those writes stored.
    pub messages_written: u64,
    /// Writes refused because of their expected version.
    pub conflicts: u64,
    /// Reads of streams, categories and single messages.
    pub reads: u64,
    /// Messages that those reads returned.
    pub messages_read: u64,
    /// Connections lost during a commit.
    pub lost_connections: u64,
    /// The largest number of writes in one commit.
    pub largest_batch: u64,
    /// Writes waiting for a commit now.
    pub queued_writes: u64,
    /// The session that hears of writes by other processes, if the store has one.
    pub listener: Option<Listener>,
}

impl Stats {
    /// Combines the counters of two stores: the larger `largest_batch`, the earlier loss of a
    /// listener, and the sums of the others.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            commits: self.commits + other.commits,
            writes: self.writes + other.writes,
            messages_written: self.messages_written + other.messages_written,
            conflicts: self.conflicts + other.conflicts,
            reads: self.reads + other.reads,
            messages_read: self.messages_read + other.messages_read,
            lost_connections: self.lost_connections + other.lost_connections,
            largest_batch: self.largest_batch.max(other.largest_batch),
            queued_writes: self.queued_writes + other.queued_writes,
            listener: match (self.listener, other.listener) {
                (Some(one), Some(other)) => Some(one.and(other)),
                (one, other) => one.or(other),
            },
        }
    }
}
