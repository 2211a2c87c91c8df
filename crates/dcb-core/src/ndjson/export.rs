use std::io::Write;
use std::sync::Arc;

use super::event_record::EventRecord;
use crate::{Bookmark, Error, EventStore, Position, Query, ReadOptions};

/// The number of events between two reports.
const REPORT_EVERY: u64 = 1000;

/// The progress of an export, and finally its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The number of events written.
    pub events: u64,
    /// The position of the last event written. To continue, export the events after it.
    pub through: Option<Position>,
    /// The last position of the log in the exported snapshot.
    pub head: Option<Position>,
}

/// Writes the matching events of one snapshot as NDJSON (see [`ndjson`](crate::ndjson)) and
/// flushes `out`. Calls `report` after every 1,000 events and at the end.
///
/// The calling task writes to `out`, which should be buffered. If writes may block for long, run the
/// export on a separate thread.
///
/// # Errors
/// [`Error::Io`] if writing to `out` fails; [`Error::AfterBeyondHead`],
/// [`Fault::TimedOut`](crate::Fault), [`Fault::Unreachable`](crate::Fault),
/// [`Fault::Closed`](crate::Fault) or [`Fault::Refused`](crate::Fault) if reading fails. The output may
/// end with an incomplete line.
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
        head: Bookmark::position_of(stream.head()),
    };
    while let Some(event) = stream.next().await {
        let event = event?;
        serde_json::to_writer(&mut *out, &EventRecord::new(&event))
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(io_error)?;
        exported.events += 1;
        exported.through = Some(event.position());
        if exported.events.is_multiple_of(REPORT_EVERY) {
            report(exported);
        }
    }
    // A buffered writer ignores errors when it is dropped.
    out.flush().map_err(io_error)?;
    report(exported);
    Ok(exported)
}

pub(super) fn io_error(error: std::io::Error) -> Error {
    Error::Io {
        source: Arc::new(error),
    }
}
