use std::io::Write;

use super::line::Line;
use crate::{Error, EventStore, Position, Query, ReadOptions};

/// How many events are written between two reports.
const REPORT_EVERY: u64 = 1000;

/// How far an export is, and at the end what it wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Events written.
    pub events: u64,
    /// The position of the last of them. An export after it goes on.
    pub through: Option<Position>,
    /// The last position of the log in the snapshot that is written.
    pub head: Option<Position>,
}

/// Writes the events that match, of one snapshot, as lines of JSON (see
/// [`transfer`](crate::transfer)), reports after every 1,000 and at the end, and flushes.
///
/// `out` is written to from the calling task and wants a buffer; where it may block for long, run
/// the export on a thread of its own.
///
/// # Errors
/// What the store met while reading; [`Error::Io`] where `out` failed. What was written until then
/// ends with a whole line or a part of one.
pub async fn export<S: EventStore>(
    store: &S,
    query: &Query,
    options: ReadOptions,
    out: &mut impl Write,
    mut report: impl FnMut(Exported),
) -> Result<Exported, Error> {
    let mut stream = store.query_stream(query, options).await?;
    let mut exported = Exported {
        events: 0,
        through: None,
        head: stream.head(),
    };
    while let Some(event) = stream.next().await {
        let event = event?;
        serde_json::to_writer(&mut *out, &Line::of(&event))
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(|error| io_error(&error))?;
        exported.events += 1;
        exported.through = Some(event.position());
        if exported.events.is_multiple_of(REPORT_EVERY) {
            report(exported);
        }
    }
    out.flush().map_err(|error| io_error(&error))?;
    report(exported);
    Ok(exported)
}

pub(super) fn io_error(error: &std::io::Error) -> Error {
    Error::Io {
        reason: error.to_string().into(),
    }
}
