use std::io::BufRead;

use super::batch::{Batch, ImportOptions};
use super::content::{EntryError, invalid};
use super::event_record::EventRecord;
use super::export::io_error;
use super::line::Line;
use crate::{Bookmark, Command, Error, Event, EventStore};

/// The progress of an import, and finally its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The number of lines whose events are in the store.
    pub events: u64,
}

/// Appends the events of NDJSON (see [`ndjson`](crate::ndjson)) in order, in batches of one commit
/// each. Calls `report` after each batch, and skips empty lines.
///
/// Events keep their ids and the time of their recording, and commands their events. So importing again changes nothing, and importing after an interruption
/// appends the missing events. Lines without an id become new events every time. The store assigns
/// new positions; they equal the old ones if a whole log is imported into an empty one.
///
/// Positions that the old log tracked are tracked with the last events. An event that the store has
/// already keeps its time there. Each command costs a commit of its own.
///
/// The calling task reads from `input`.
///
/// # Errors
/// [`Error::Import`] for the first line that is not an event, or whose command or tracked position can't
/// be stored because the store has its events already; [`Error::Io`] if reading `input` fails;
/// [`Error::DuplicateId`] if a different event has the same id; or another error of
/// [`EventStore::append`]. All reported events are in the store.
pub async fn import<S: EventStore>(
    store: &S,
    mut input: impl BufRead,
    options: ImportOptions,
    mut report: impl FnMut(Imported),
) -> Result<Imported, Error> {
    let mut batch = Batch::new(options, Bookmark::position_of(store.head().await?));
    let (mut line, mut number) = (Vec::new(), 0_u64);
    let mut imported = Imported::default();
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(io_error)? == 0 {
            break;
        }
        number += 1;
        let text = str::from_utf8(&line).map_err(|error| invalid(number, error.into()))?;
        if text.trim().is_empty() {
            continue;
        }
        let parsed = Line::parse(text).map_err(|reason| invalid(number, reason))?;
        let record = match parsed {
            Line::Event(record) => record,
            Line::Tracked(tracking) => {
                batch.track(store, number, tracking).await?;
                continue;
            }
        };
        let (event, command) = read_record(&record).map_err(|reason| invalid(number, reason))?;
        if batch.is_full_for(&event) {
            imported.events += batch.append(store).await?;
            report(imported);
        }
        let pushed = batch.push(number, event, command);
        pushed.map_err(|reason| invalid(number, reason))?;
    }
    let rest = batch.end(store).await?;
    if rest > 0 {
        imported.events += rest;
        report(imported);
    }
    Ok(imported)
}

/// The event of a line, with its command and the number of the command's events.
fn read_record(record: &EventRecord<'_>) -> Result<(Event, Option<(Command, usize)>), EntryError> {
    let command = record.command.as_ref();
    let command = command.map(|command| Ok::<_, EntryError>((command.command()?, command.events)));
    Ok((record.event()?, command.transpose()?))
}
