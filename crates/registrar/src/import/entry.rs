use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use uuid::Uuid;

use crate::failure::Failure;

/// An event as another program has stored it.
#[derive(Default)]
pub(crate) struct Entry {
    /// Its place in the source, for errors: `line 7`, `position 7`.
    pub(crate) place: String,
    /// A number that only increases in the source, from 1.
    pub(crate) position: u64,
    /// The id, if the source has one.
    pub(crate) id: Option<Uuid>,
    /// The stream, or the aggregate.
    pub(crate) stream: Option<String>,
    pub(crate) event_type: String,
    /// Tags that the source has already.
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) data: Vec<u8>,
    pub(crate) recorded_at: Option<SystemTime>,
}

/// An entry that can't be imported.
#[derive(Debug)]
pub(crate) struct EntryError {
    pub(crate) place: Arc<str>,
    pub(crate) reason: String,
}

impl fmt::Display for EntryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.reason)
    }
}

/// A source of events.
pub(crate) trait Source: Send {
    /// The next entry, or why it can't be read; `None` at the end.
    fn next(
        &mut self,
    ) -> impl Future<Output = Result<Option<Result<Entry, EntryError>>, Failure>> + Send;

    /// Leaves out the entries up to this position.
    fn skip_through(&mut self, position: u64) -> impl Future<Output = Result<(), Failure>> + Send;
}
