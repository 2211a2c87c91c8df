use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::command_record::CommandRecord;
use super::commands::Commands;
use super::event_record::EventRecord;
use super::line::write_tracked;
use crate::text::invalid;
use crate::{
    Bookmark, Error, EventStore, EventStream, Fault, Position, Problem, Query, ReadOptions,
    RecordedCommand, SequencedEvent, Tracking,
};

/// The number of events between two reports.
const REPORT_EVERY: u64 = 1000;

/// How long an export waits for a moment in which no append tracks a position.
const QUIET_WITHIN: Duration = Duration::from_secs(5);

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
/// A command is written with those of its events that match. An export of [`Query::all`] without a limit
/// ends at the head, so it also has the tracked positions of that moment. Export from a store without
/// replicas then: a replica may lack the events of a tracked position.
///
/// The calling task writes to `out`, which should be buffered. If writes may block for long, run the
/// export on a separate thread.
///
/// # Errors
/// [`Error::Io`] if writing to `out` fails; [`Error::Invalid`] for a backward read;
/// [`Error::AfterBeyondHead`], [`Fault::TimedOut`], [`Fault::Unreachable`], [`Fault::Closed`] or
/// [`Fault::Refused`] if reading fails, and the first of these faults if appends tracked positions
/// without a pause. The output may end with an incomplete line.
pub async fn export<S: EventStore>(
    store: &S,
    query: &Query,
    options: ReadOptions,
    out: &mut impl Write,
    report: impl FnMut(Exported),
) -> Result<Exported, Error> {
    if options.backwards {
        let problem = Problem::malformed("an export goes forwards");
        return Err(invalid("options.backwards")(problem));
    }
    let (mut stream, tracked) = snapshot(store, query, options).await?;
    let head = Bookmark::position_of(stream.head());
    let mut lines = Lines::new(out, report, head);
    tracked.iter().try_for_each(|one| lines.tracked(one))?;
    let mut commands = Commands::new(store);
    while let Some(event) = stream.next().await {
        let event = event?;
        let command = commands.of(event.position()).await?;
        lines.event(event, command)?;
    }
    lines.end()
}

/// The matching events of a snapshot and, if they are a log up to its head, its tracked positions.
async fn snapshot<S: EventStore>(
    store: &S,
    query: &Query,
    options: ReadOptions,
) -> Result<(EventStream, Vec<Tracking>), Error> {
    if options.limit.is_some() || *query != Query::all() {
        return Ok((store.query_stream(query, options).await?, Vec::new()));
    }
    let started = Instant::now();
    let mut before = store.all_tracked().await?;
    loop {
        let stream = store.query_stream(query, options).await?;
        let after = store.all_tracked().await?;
        // Tracked positions only increase. Equal before and after, they are those of the snapshot.
        if before == after {
            return Ok((stream, before));
        }
        if started.elapsed() > QUIET_WITHIN {
            let (operation, limit) = ("export", QUIET_WITHIN);
            return Err(Fault::TimedOut { operation, limit }.into());
        }
        before = after;
    }
}

/// The output.
struct Lines<'o, W, R> {
    out: &'o mut W,
    report: R,
    exported: Exported,
    /// A command and its events so far. Their number is in the first line.
    command: Option<(RecordedCommand, Vec<SequencedEvent>)>,
}

impl<'o, W: Write, R: FnMut(Exported)> Lines<'o, W, R> {
    fn new(out: &'o mut W, report: R, head: Option<Position>) -> Self {
        Self {
            out,
            report,
            exported: Exported {
                events: 0,
                through: None,
                head,
            },
            command: None,
        }
    }

    fn tracked(&mut self, tracking: &Tracking) -> Result<(), Error> {
        let written = write_tracked(self.out, tracking).map_err(std::io::Error::from);
        let ended = written.and_then(|()| self.out.write_all(b"\n"));
        ended.map_err(io_error)
    }

    fn event(
        &mut self,
        event: SequencedEvent,
        command: Option<&RecordedCommand>,
    ) -> Result<(), Error> {
        match (&mut self.command, command) {
            (Some((current, events)), Some(command))
                if current.position() == command.position() =>
            {
                events.push(event);
                return Ok(());
            }
            _ => self.end_command()?,
        }
        match command {
            Some(command) => {
                self.command = Some((command.clone(), vec![event]));
                Ok(())
            }
            None => self.write(&event, None),
        }
    }

    fn end_command(&mut self) -> Result<(), Error> {
        let Some((command, events)) = self.command.take() else {
            return Ok(());
        };
        let mut record = Some(CommandRecord::new(command.command(), events.len()));
        let mut events = events.iter();
        events.try_for_each(|event| self.write(event, record.take()))
    }

    fn write(
        &mut self,
        event: &SequencedEvent,
        command: Option<CommandRecord<'_>>,
    ) -> Result<(), Error> {
        write_line(self.out, event, command)?;
        self.exported.events += 1;
        self.exported.through = Some(event.position());
        if self.exported.events.is_multiple_of(REPORT_EVERY) {
            (self.report)(self.exported);
        }
        Ok(())
    }

    fn end(mut self) -> Result<Exported, Error> {
        self.end_command()?;
        // A buffered writer ignores errors when it is dropped.
        self.out.flush().map_err(io_error)?;
        (self.report)(self.exported);
        Ok(self.exported)
    }
}

/// Writes an event as a line of an [`export`], without its command.
///
/// # Errors
/// [`Error::Io`] if writing to `out` fails.
pub fn write_event(out: &mut impl Write, event: &SequencedEvent) -> Result<(), Error> {
    write_line(out, event, None)
}

fn write_line(
    out: &mut impl Write,
    event: &SequencedEvent,
    command: Option<CommandRecord<'_>>,
) -> Result<(), Error> {
    serde_json::to_writer(&mut *out, &EventRecord::new(event, command))
        .map_err(std::io::Error::from)
        .and_then(|()| out.write_all(b"\n"))
        .map_err(io_error)
}

pub(super) fn io_error(error: std::io::Error) -> Error {
    Error::Io {
        source: Arc::new(error),
    }
}
