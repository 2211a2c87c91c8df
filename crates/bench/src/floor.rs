use crate::op::Op;
use std::sync::Arc;

/// The least that a row could cost: the same work without the store, measured between the row's
/// own ops. Clones are the same floor.
#[derive(Debug, Clone)]
pub struct Floor {
    pub(crate) name: Arc<str>,
    pub(crate) what: Arc<str>,
    pub(crate) concurrency: usize,
    pub(crate) op: Op,
}

impl Floor {
    /// A floor of one caller. `what` says in a few words what one op of it is.
    pub fn new(name: &str, what: &str, op: &Op) -> Self {
        Self {
            name: name.into(),
            what: what.into(),
            concurrency: 1,
            op: op.clone(),
        }
    }

    /// With that many callers at once.
    #[must_use]
    pub fn concurrency(mut self, callers: usize) -> Self {
        self.concurrency = callers;
        self
    }
}
