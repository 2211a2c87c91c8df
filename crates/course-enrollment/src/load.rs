use dcb_core::append_missing;
use dcb_core::{Error, Event, EventStore};

use crate::DatasetContent;

/// Progress of loading a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of events in the store.
    pub loaded: usize,
    /// Number of events in the dataset.
    pub total: usize,
}

/// Appends a dataset's events in order and reports progress after each batch. Each batch is one
/// commit of `batch` events; 0 counts as 1. By default, a store accepts up to 1,000 events in a
/// batch.
///
/// Loading a dataset again changes nothing. After an interruption, loading continues with the
/// missing events, with any batch size.
///
/// # Errors
/// [`Error::DuplicateId`] if another event has the id of one of the dataset's events;
/// [`Error::Fault`] if the store fails. The
/// batches reported so far are stored.
pub async fn load<S: EventStore>(
    content: &DatasetContent,
    store: &S,
    batch: usize,
    mut report: impl FnMut(Progress),
) -> Result<(), Error> {
    let total = content.event_count();
    let mut events = content.events();
    let mut loaded = 0;
    while loaded < total {
        let next: Vec<Event> = events.by_ref().take(batch.max(1)).collect();
        loaded += next.len();
        // An interrupted load may have stored some of these events. `append_missing` recognizes
        // them by their ids.
        append_missing(store, next).await?;
        report(Progress { loaded, total });
    }
    Ok(())
}
