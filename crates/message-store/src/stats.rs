/// What a store has done since it was opened, for a host to export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Transactions that committed a batch of writes.
    pub commits: u64,
    /// Writes that were stored; those found to be stored already are not counted.
    pub writes: u64,
    /// Messages of these writes.
    pub messages_written: u64,
    /// Writes refused because of their expected version.
    pub conflicts: u64,
    /// Reads of streams, categories and single messages.
    pub reads: u64,
    /// Messages that these returned.
    pub messages_read: u64,
    /// How often the connection was lost while a commit was under way.
    pub lost_connections: u64,
    /// The most writes that one commit took.
    pub largest_batch: u64,
    /// Writes that wait for a commit now.
    pub queued_writes: u64,
}

impl Stats {
    /// Those of two stores together.
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
        }
    }
}
