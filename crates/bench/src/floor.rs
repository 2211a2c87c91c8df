use crate::op::Op;
use std::sync::Arc;

/// The lower bound of a row's cost: the same work without the store, measured in turns with the
/// row. Clones are the same floor.
#[derive(Debug, Clone)]
pub struct Floor {
    pub(crate) name: Arc<str>,
    pub(crate) what: Arc<str>,
    pub(crate) concurrency: usize,
    pub(crate) op: Op,
}

impl Floor {
    /// A floor with one caller. `what` describes one op of it in a few words.
    pub fn new(name: &str, what: &str, op: &Op) -> Self {
        Self {
            name: name.into(),
            what: what.into(),
            concurrency: 1,
            op: op.clone(),
        }
    }

    /// Sets the number of concurrent callers.
    #[must_use]
    pub fn concurrency(mut self, callers: usize) -> Self {
        self.concurrency = callers;
        self
    }
}
