use std::sync::Arc;

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tsdb::wire::Ingested;
use tsdb::{Db, Exemplars};

use super::work::Work;
use crate::observe::Observed;

/// Memory for exemplars: some 100,000 of the usual size.
const EXEMPLAR_BYTES: usize = 16 << 20;

/// The time between two lines of the log about samples of 1970.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// The time-series engine, with the limits on work for it and the counters of that work.
pub(crate) struct Engine {
    pub(super) db: Db,
    pub(super) exemplars: Arc<Exemplars>,
    pub(super) work: Work,
    pub(super) observed: Arc<Observed>,
    warned: Mutex<Option<Instant>>,
}

impl Engine {
    pub(crate) fn new(db: Db, observed: Arc<Observed>) -> Self {
        Self {
            db,
            exemplars: Arc::new(Exemplars::new(EXEMPLAR_BYTES)),
            work: Work::default(),
            observed,
            warned: Mutex::default(),
        }
    }

    /// Counts what a request has written. Samples of 1970 get a line in the log: a sender whose times
    /// have another unit than the server takes them for writes such, and no query shows them.
    pub(super) fn note(&self, protocol: &'static str, ingested: &Ingested) {
        self.observed.add_points(ingested.written);
        self.observed.add_not_numbers(ingested.not_numbers);
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
