use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of writes and queries since the start. The orderings are relaxed, because no other
/// data depends on it.
#[derive(Debug, Default)]
pub struct Counters {
    points_written: AtomicU64,
    queries_served: AtomicU64,
    histograms_refused: AtomicU64,
    not_numbers: AtomicU64,
}

impl Counters {
    /// Number of points that clients wrote.
    pub fn points_written(&self) -> u64 {
        self.points_written.load(Ordering::Relaxed)
    }

    /// Number of answered queries.
    pub fn queries_served(&self) -> u64 {
        self.queries_served.load(Ordering::Relaxed)
    }

    /// Number of native histograms that were refused.
    pub fn histograms_refused(&self) -> u64 {
        self.histograms_refused.load(Ordering::Relaxed)
    }

    /// Number of values that were left out because they are no numbers.
    pub fn not_numbers(&self) -> u64 {
        self.not_numbers.load(Ordering::Relaxed)
    }

    pub(super) fn add_not_numbers(&self, left_out: usize) {
        self.not_numbers
            .fetch_add(left_out as u64, Ordering::Relaxed);
    }

    pub(super) fn add_refused_histograms(&self, refused: usize) {
        self.histograms_refused
            .fetch_add(refused as u64, Ordering::Relaxed);
    }

    pub(super) fn add_points(&self, written: usize) {
        self.points_written
            .fetch_add(written as u64, Ordering::Relaxed);
    }

    pub(super) fn add_query(&self) {
        self.queries_served.fetch_add(1, Ordering::Relaxed);
    }
}
