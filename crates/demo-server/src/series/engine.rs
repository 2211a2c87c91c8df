use std::sync::Arc;

use tsdb::Db;

use super::work::Work;
use crate::observe::Observed;

/// The time-series engine, with the limits on work for it and the counters of that work.
pub(crate) struct Engine {
    pub(super) db: Db,
    pub(super) work: Work,
    pub(super) observed: Arc<Observed>,
}

impl Engine {
    pub(crate) fn new(db: Db, observed: Arc<Observed>) -> Self {
        Self {
            db,
            work: Work::default(),
            observed,
        }
    }
}
