use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::requests::Requests;
use crate::guard::Guard;
use crate::health::Health;
use crate::openapi;
use crate::outbox::Outbox;
use crate::stores::Stores;

/// The server's own counters, and the parts whose counters it shows with them.
pub(crate) struct Observed {
    pub(super) guard: Arc<Guard>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) stores: Arc<Stores>,
    pub(super) health: Arc<Health>,
    /// The data folder, if there is one.
    pub(super) folder: Option<PathBuf>,
    started: Instant,
    pub(super) requests: Requests,
    pub(super) bodies_refused: AtomicU64,
    points_written: AtomicU64,
    queries_served: AtomicU64,
    histograms_refused: AtomicU64,
    not_numbers: AtomicU64,
}

impl Observed {
    pub(crate) fn new(
        guard: Arc<Guard>,
        outbox: Arc<Outbox>,
        stores: Arc<Stores>,
        health: Arc<Health>,
        folder: Option<PathBuf>,
    ) -> Self {
        Self {
            guard,
            outbox,
            stores,
            health,
            folder,
            started: Instant::now(),
            requests: Requests::new(openapi::templates()),
            bodies_refused: AtomicU64::new(0),
            points_written: AtomicU64::new(0),
            queries_served: AtomicU64::new(0),
            histograms_refused: AtomicU64::new(0),
            not_numbers: AtomicU64::new(0),
        }
    }

    /// Time since the server's start.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Number of points that clients wrote.
    pub(crate) fn points_written(&self) -> u64 {
        self.points_written.load(Ordering::Relaxed)
    }

    /// Number of answered series queries.
    pub(crate) fn queries_served(&self) -> u64 {
        self.queries_served.load(Ordering::Relaxed)
    }

    /// Number of native histograms that were refused.
    pub(super) fn histograms_refused(&self) -> u64 {
        self.histograms_refused.load(Ordering::Relaxed)
    }

    /// Number of values that were left out because they are no numbers.
    pub(super) fn not_numbers(&self) -> u64 {
        self.not_numbers.load(Ordering::Relaxed)
    }

    pub(crate) fn add_not_numbers(&self, left_out: usize) {
        self.not_numbers
            .fetch_add(left_out as u64, Ordering::Relaxed);
    }

    pub(crate) fn add_refused_histograms(&self, refused: usize) {
        self.histograms_refused
            .fetch_add(refused as u64, Ordering::Relaxed);
    }

    pub(crate) fn add_points(&self, written: usize) {
        self.points_written
            .fetch_add(written as u64, Ordering::Relaxed);
    }

    pub(crate) fn add_query(&self) {
        self.queries_served.fetch_add(1, Ordering::Relaxed);
    }
}
