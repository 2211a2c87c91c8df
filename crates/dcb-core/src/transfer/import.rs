use std::io::BufRead;

use super::append_missing;
use super::export::io_error;
use super::line::Line;
use crate::{Error, Event, EventStore, Limits};

/// How lines are appended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportOptions {
    /// The most events of one commit; no more than the store's limits allow. Default: 500.
    pub batch_events: usize,
    /// The most bytes of events of one commit; one that is larger goes alone. Default: 4 MiB.
    pub batch_bytes: usize,
    /// A metadata key to keep the line's `recordedAt` under, since the store records a time of its
    /// own. Default: none, so that events stay as they were.
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

    /// The most events of one commit.
    #[must_use]
    pub fn batch_events(mut self, batch_events: usize) -> Self {
        self.batch_events = batch_events;
        self
    }

    /// Keeps the time that the exporting store recorded as metadata.
    #[must_use]
    pub fn keep_recorded_at(mut self, metadata_key: impl Into<String>) -> Self {
        self.recorded_at_key = Some(metadata_key.into());
        self
    }
}

/// How far an import is, and at the end what it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Lines whose events are in the store now.
    pub events: u64,
}

/// Appends the events of lines of JSON (see [`transfer`](crate::transfer)) in their order, a batch
/// a commit, and reports after each batch. Empty lines are skipped.
///
/// Events keep their ids: to import again changes nothing, and to import after an interruption
/// appends what is missing. Lines without an id are new events each time. Positions are given anew:
/// into an empty log a whole log keeps its own.
///
/// `input` is read from the calling task.
///
/// # Errors
/// [`Error::Import`] with the first line that is not an event; [`Error::Io`] where `input` failed;
/// else what the store met, [`Error::DuplicateEventId`] where an id is taken by another event. What
/// was reported until then is in the store.
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
        if read.map_err(|error| io_error(&error))? == 0 {
            break;
        }
        number += 1;
        let wrong = |reason: String| Error::Import {
            entry: format!("line {number}"),
            reason: reason.into(),
        };
        let text = str::from_utf8(&line).map_err(|error| wrong(error.to_string()))?;
        if text.trim().is_empty() {
            continue;
        }
        let event = batch.event(text).map_err(wrong)?;
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

    fn event(&self, text: &str) -> Result<Event, String> {
        Line::parse(text)?.event(self.options.recorded_at_key.as_deref())
    }

    fn is_full_for(&self, event: &Event) -> bool {
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
