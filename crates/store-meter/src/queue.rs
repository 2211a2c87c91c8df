use crate::{Histogram, Scope, Timer};

/// The metrics of a commit queue.
#[derive(Clone, Debug, Default)]
pub struct QueueMeter {
    wait: Histogram,
    commit: Histogram,
    requests: Histogram,
}

impl QueueMeter {
    /// The handles `{prefix}_queue_seconds`, `{prefix}_commit_seconds` and
    /// `{prefix}_commit_requests`.
    pub fn new(scope: &Scope) -> Self {
        Self {
            wait: scope.seconds(
                "queue_seconds",
                "Time of a request in the queue, until the commit of its batch begins",
            ),
            commit: scope.seconds("commit_seconds", "Time of the commit of a batch"),
            requests: scope.sizes("commit_requests", "Requests of a batch"),
        }
    }

    /// The commit of the batch with this request begins now.
    #[inline]
    pub fn left_queue(&self, arrived: Timer) {
        self.wait.record_since(arrived);
    }

    /// The commit of a batch has ended.
    #[inline]
    pub fn committed(&self, begun: Timer, requests: usize) {
        self.commit.record_since(begun);
        self.requests.record(|| requests);
    }
}
