//! Imports of events that other programs have stored.
//!
//! A [`Source`] yields entries in order, each with a position that only increases. The rules turn an entry
//! into an event. Each commit tracks the position of its last entry, so an import that was interrupted
//! goes on after it, and one that is complete appends only what is new.

mod count;
mod entry;
mod json_path;
mod kurrentdb;
mod lines;
mod rules;
mod tables;

use std::sync::Arc;

use dcb_core::{AnyStore, Append, Event, EventStore as _, Tracking};

pub(crate) use count::Counts;
pub(crate) use entry::{Entry, EntryError, Source};
pub(crate) use kurrentdb::KurrentDb;
pub(crate) use lines::Lines;
pub(crate) use rules::Rules;
pub(crate) use tables::{Library, Table};

use crate::failure::Failure;
use crate::progress::Progress;

/// Maximum number of events per commit.
const BATCH_EVENTS: usize = 500;
/// Size of the data per commit, in bytes.
const BATCH_BYTES: usize = 4 << 20;
/// Faults that a dry run prints.
const SHOWN_FAULTS: usize = 20;

/// Reads the whole source and counts, without a store. Faults do not end it.
pub(crate) async fn dry_run(
    source: &mut impl Source,
    rules: &Rules,
) -> Result<(Counts, Vec<String>), Failure> {
    let progress = Progress::new("entries", None);
    let (mut counts, mut faults) = (Counts::default(), Vec::new());
    while let Some(entry) = source.next().await? {
        match entry.and_then(|entry| rules.event(&entry)) {
            Ok(event) => counts.add(&event),
            Err(fault) => {
                counts.faults += 1;
                if faults.len() < SHOWN_FAULTS {
                    faults.push(fault.to_string());
                }
            }
        }
        progress.set(counts.events + counts.faults);
    }
    Ok((counts, faults))
}

/// Appends the events of the source that the store has not imported yet. Ends at the first fault. The store
/// then has all events before it.
pub(crate) async fn import(
    source: &mut impl Source,
    name: &str,
    rules: &Rules,
    store: &AnyStore,
) -> Result<Counts, Failure> {
    let imported = store.tracked(name).await?.unwrap_or(0);
    source.skip_through(imported).await?;
    let progress = Progress::new("events", None);
    let mut counts = Counts {
        after: imported,
        ..Counts::default()
    };
    let mut batch = Batch::default();
    let ended = loop {
        let entry = match source.next().await? {
            None => break Ok(()),
            Some(Err(fault)) => break Err(fault),
            Some(Ok(entry)) => entry,
        };
        match rules.event(&entry) {
            Ok(event) => {
                counts.add(&event);
                batch.push(event, entry.position);
            }
            Err(fault) => break Err(fault),
        }
        if batch.is_full() {
            batch.append(store, name).await?;
            progress.set(counts.events);
        }
    };
    batch.append(store, name).await?;
    ended.map_err(|fault| Failure::input(fault.to_string()))?;
    Ok(counts)
}

#[derive(Default)]
struct Batch {
    events: Vec<Event>,
    bytes: usize,
    /// The position of the last entry.
    position: u64,
}

impl Batch {
    fn push(&mut self, event: Event, position: u64) {
        self.bytes += event.size_bytes();
        self.events.push(event);
        self.position = position;
    }

    fn is_full(&self) -> bool {
        self.events.len() >= BATCH_EVENTS || self.bytes >= BATCH_BYTES
    }

    async fn append(&mut self, store: &AnyStore, name: &str) -> Result<(), Failure> {
        let batch = std::mem::take(self);
        if batch.events.is_empty() {
            return Ok(());
        }
        let tracking = Tracking::new(name, batch.position)?;
        store
            .submit(Append::new(batch.events).tracking(tracking))
            .await?;
        Ok(())
    }
}

/// The fault of an entry.
fn fault(place: &str, reason: impl std::fmt::Display) -> EntryError {
    EntryError {
        place: Arc::from(place),
        reason: reason.to_string(),
    }
}
