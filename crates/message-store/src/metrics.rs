//! The metrics of a store, recorded through the `metrics` facade. README.md lists the names.
//!
//! Without the feature `metrics`, all of this is empty; see the crate `store-meter`.

#![cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    expect(dead_code, reason = "only a backend records writes and reads")
)]

use store_meter::{Outcome, Scope, Shared, StoreMeter, StoreNames};

use crate::Error;

/// The handles of a store on the `metrics` facade, without content unless the feature `metrics` is on.
/// Cheap to clone.
///
/// A store makes them when it is opened, with the recorder that is installed then. A store that wraps
/// another forwards [`MessageStore::metrics`](crate::MessageStore::metrics), so that its
/// subscriptions are recorded.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    handles: Shared<StoreMeter>,
}

const NAMES: StoreNames = StoreNames {
    ended: (
        "writes_total",
        "Writes that ended, by outcome; one that the limits refuse is not counted",
    ),
    waiting: ("writes_waiting", "Writes that wait for their outcome"),
    records: ("messages_written_total", "Messages of committed writes"),
    commit_records: ("commit_messages", "Messages of a commit"),
    lost_writers: "Connections for writes that were lost during a commit",
};

impl Metrics {
    /// The handles of a store, or of all namespaces of a database or folder, on this backend.
    pub(crate) fn new(backend: &'static str) -> Self {
        let enabled = cfg!(feature = "metrics");
        let scope = Scope::new(enabled, "message_store", &[("backend", backend)]);
        Self {
            handles: Shared::new(StoreMeter::new(&scope, NAMES)),
        }
    }

    /// The metrics that every store has.
    #[inline]
    pub(crate) fn store(&self) -> &StoreMeter {
        &self.handles
    }

    /// A write has ended.
    #[inline]
    pub(crate) fn write_ended<T>(&self, result: &Result<T, Error>) {
        self.handles.ended(outcome(result));
    }
}

fn outcome<T>(result: &Result<T, Error>) -> Outcome {
    match result {
        Ok(_) => Outcome::Committed,
        Err(Error::WrongExpectedVersion { .. }) => Outcome::Conflict,
        Err(Error::Invalid { .. } | Error::DuplicateId { .. }) => Outcome::Refused,
        Err(Error::Fault(fault)) => fault.into(),
        Err(Error::OutcomeUnknown { .. }) => Outcome::Unknown,
        Err(_) => Outcome::Failed,
    }
}
