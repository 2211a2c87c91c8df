use std::sync::Arc;

use tsdb::{Db, Exemplars};

use super::work::Work;
use crate::observe::Observed;

/// Memory for exemplars: some 100,000 of the usual size.
const EXEMPLAR_BYTES: usize = 16 << 20;

/// The time-series engine, with the limits on work for it and the counters of that work.
pub(crate) struct Engine {
    pub(super) db: Db,
    pub(super) exemplars: Arc<Exemplars>,
    pub(super) work: Work,
    pub(super) observed: Arc<Observed>,
}

impl Engine {
    pub(crate) fn new(db: Db, observed: Arc<Observed>) -> Self {
        Self {
            db,
            exemplars: Arc::new(Exemplars::new(EXEMPLAR_BYTES)),
            work: Work::default(),
            observed,
        }
    }
}
