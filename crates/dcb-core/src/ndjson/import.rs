use std::io::BufRead;

use super::event_record::{EntryError, EventRecord};
use super::export::io_error;
use crate::error::shared;
use crate::{Error, Event, EventStore, Limits, append_missing};

/// The options of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportOptions {
    /// The maximum number of events per commit. It must not exceed the store's limits. Default: 500.
    pub batch_events: usize,
    /// The maximum size of the events of a commit, in bytes. A larger event is committed alone.
    /// Default: 4 MiB.
    pub batch_bytes: usize,
    /// A metadata key that receives the `recordedAt` of each line, because the store records a new
    /// time. Default: none, so that events stay unchanged.
    pub recorded_at_key: Option<String>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            batch_events: Limits::default().max_events_per_append / 2,
            batch_bytes: 4 << 20,
            recorded_at_key: None,
        }
    }
}

impl ImportOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of events per commit.
    #[must_use]
    pub fn batch_events(mut self, batch_events: usize) -> Self {
        self.batch_events = batch_events;
        self
    }

    /// Stores the original commit time under this metadata key.
    #[must_use]
    pub fn keep_recorded_at(mut self, metadata_key: impl Into<String>) -> Self {
        self.recorded_at_key = Some(metadata_key.into());
        self
    }
}

/// The progress of an import, and finally its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The number of lines whose events are in the store.
    pub events: u64,
}

/// Appends the events of NDJSON (see [`ndjson`](crate::ndjson)) in order, in batches of one commit
/// each. Calls `report` after each batch, and skips empty lines.
///
/// Events keep their ids. So importing again changes nothing, and importing after an interruption
/// appends the missing events. Lines without an id become new events every time. The store assigns
/// new positions; they equal the old ones if a whole log is imported into an empty one.
///
/// The calling task reads from `input`.
///
/// # Errors
/// [`Error::Import`] for the first line that is not an event; [`Error::Io`] if reading `input` fails;
/// [`Error::DuplicateId`] if a different event has the same id; or another error of
/// [`EventStore::append`]. All reported events are in the store.
pub async fn import<S: EventStore>(
    store: &S,
    mut input: impl BufRead,
    options: ImportOptions,
    mut report: impl FnMut(Imported),
) -> Result<Imported, Error> {
    let mut batch = Batch::new(options);
    let (mut line, mut number) = (Vec::new(), 0_u64);
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(io_error)? == 0 {
            break;
        }
        number += 1;
        let invalid = |source| Error::Import {
            entry: format!("line {number}"),
            source: shared(source),
        };
        let text = str::from_utf8(&line).map_err(|error| invalid(error.into()))?;
        if text.trim().is_empty() {
            continue;
        }
        let event = batch.event(text).map_err(invalid)?;
        if batch.is_full_for(&event) {
            report(batch.append_to(store).await?);
        }
        batch.push(event);
    }
    if !batch.events.is_empty() {
        report(batch.append_to(store).await?);
    }
    Ok(batch.imported)
}

/// The events of the next commit.
struct Batch {
    options: ImportOptions,
    events: Vec<Event>,
    bytes: usize,
    imported: Imported,
}

impl Batch {
    fn new(options: ImportOptions) -> Self {
        Self {
            options,
            events: Vec::new(),
            bytes: 0,
            imported: Imported::default(),
        }
    }

    fn event(&self, text: &str) -> Result<Event, EntryError> {
        EventRecord::parse(text)?.event(self.options.recorded_at_key.as_deref())
    }

    fn is_full_for(&self, event: &Event) -> bool {
        // An empty batch is never full, so that an event above the size limit is committed alone.
        !self.events.is_empty()
            && (self.events.len() >= self.options.batch_events
                || self.bytes + event.size_bytes() > self.options.batch_bytes)
    }

    fn push(&mut self, event: Event) {
        self.bytes += event.size_bytes();
        self.events.push(event);
    }

    async fn append_to(&mut self, store: &impl EventStore) -> Result<Imported, Error> {
        let events = std::mem::take(&mut self.events);
        self.bytes = 0;
        self.imported.events += events.len() as u64;
        append_missing(store, events).await?;
        Ok(self.imported)
    }
}
