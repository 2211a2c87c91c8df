use crate::Listener;

/// Counts of a store's work since it was opened, for export as metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Batches of appends that the database answered. On PostgreSQL this includes batches in
    /// which it refused every append.
    pub commits: u64,
    /// Committed appends. If an append's answer was lost and the store then found the append in the
    /// log, it is not counted.
    pub appends: u64,
    /// Events of the committed appends.
    pub events: u64,
    /// Appends refused because of their condition.
    pub conflicts: u64,
    /// Reads of the database: one per statement on PostgreSQL, one per transaction on SQLite, where
    /// each page of a stream counts. A retry counts again.
    pub reads: u64,
    /// How many times a writer lost its connection during a batch.
    pub lost_connections: u64,
    /// Largest number of appends in one commit.
    pub largest_batch: u64,
    /// Appends in the queue now.
    pub queued_appends: u64,
    /// Projections running now.
    pub running_projections: u64,
    /// Read connections open now.
    pub read_connections: u64,
    /// Decisions that read nothing of their boundary, because its lane knew the events.
    pub lane_hits: u64,
    /// Decisions that read their boundary, or what was new in it.
    pub lane_misses: u64,
    /// Lanes that were dropped because those at rest, or one of them alone, were larger than the store's cache.
    pub lane_evictions: u64,
    /// Size of the lanes at rest now: what they know of their boundaries.
    pub lane_bytes: u64,
    /// Decisions that began with a state from the database.
    pub states_loaded: u64,
    /// States that were stored in the database.
    pub states_stored: u64,
    /// States in the database that could not be used: they can't be decoded, or the log has another past.
    pub states_discarded: u64,
    /// States that the database could not read or write. Decisions read their boundaries instead.
    pub states_failed: u64,
    /// The session that hears of appends by other processes, if the store has one.
    pub listener: Option<Listener>,
}
