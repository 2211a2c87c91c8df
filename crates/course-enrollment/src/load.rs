use dcb_core::transfer::append_missing;
use dcb_core::{Error, Event, EventStore};

use crate::DatasetContent;

/// How far a dataset is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many events are in the store.
    pub loaded: usize,
    /// How many there are.
    pub total: usize,
}

/// Appends the events of a dataset in their order, `batch` in one commit (at least one; stores
/// take 1,000 unless configured otherwise), and reports after each batch how far it is.
///
/// Loading again changes nothing, and loading after an interruption appends what is missing, with
/// the same batch size or another.
///
/// # Errors
/// What the store met; the batches reported until then are in the store.
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
        append_missing(store, next).await?;
        report(Progress { loaded, total });
    }
    Ok(())
}
