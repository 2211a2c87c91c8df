use std::sync::Arc;

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tsdb::wire::Ingested;
use tsdb::{Db, Exemplars};

use super::counters::Counters;
use super::work::Work;

/// Memory for exemplars: some 100,000 of the usual size.
const EXEMPLAR_BYTES: usize = 16 << 20;

/// The time between two lines of the log about samples of 1970.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// The requests that the router of series allows.
#[derive(Clone, Debug)]
pub struct Options {
    /// The text of the 403 that the paths under `/api/v1/admin`, which delete samples, answer. `None`
    /// allows them.
    pub admin_refused: Option<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            admin_refused: Some("admin APIs are disabled"),
        }
    }
}

/// The time-series engine, with the limits on work for it and the counters of that work.
pub struct Engine {
    pub(super) db: Db,
    pub(super) exemplars: Arc<Exemplars>,
    pub(super) work: Work,
    pub(super) counters: Counters,
    pub(super) options: Options,
    pub(super) started: Instant,
    warned: Mutex<Option<Instant>>,
}

impl Engine {
    /// The engine over these series.
    pub fn new(db: Db, options: Options) -> Self {
        Self {
            db,
            exemplars: Arc::new(Exemplars::new(EXEMPLAR_BYTES)),
            work: Work::default(),
            counters: Counters::default(),
            options,
            started: Instant::now(),
            warned: Mutex::default(),
        }
    }

    /// The counters of writes and queries.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Counts what a request has written. Samples of 1970 get a line in the log: a sender whose times
    /// have another unit than the server takes them for writes such, and no query shows them.
    pub(super) fn note(&self, protocol: &'static str, ingested: &Ingested) {
        self.counters.add_points(ingested.written);
        self.counters.add_not_numbers(ingested.not_numbers);
        let mut warned = self.warned.lock();
        if ingested.in_1970 > 0 && warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
            *warned = Some(Instant::now());
            let samples = ingested.in_1970;
            tracing::warn!(
                protocol,
                samples,
                "samples have a time in 1970: the sender's unit of time may be wrong"
            );
        }
    }
}
