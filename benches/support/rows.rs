//! Parts that the rows of all targets share: numbers of callers, logs to start on, and texts.

use super::content::Content;
use super::log::Log;
use super::server::Server;
use super::size::Size;
use bench::Row;
use course_enrollment::workload::Workload;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The numbers of callers in one op, as in the published benchmarks.
pub(crate) const CALLERS: [usize; 2] = [1, 100];

/// Whether a row starts on an empty log, as the published op does, or on the dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Rows that write start on an empty log; rows that read find a log of 100 events.
    Seed,
    /// The log holds the dataset, then the 100 events of `workload::past_events`.
    Dataset,
}

impl Reading {
    /// Both, in the order of the page.
    pub(crate) const BOTH: [Self; 2] = [Self::Seed, Self::Dataset];

    /// Marks the row with this reading.
    pub(crate) fn mark(self, row: Row) -> Row {
        match self {
            Self::Seed => row,
            Self::Dataset => row.on_the_dataset(),
        }
    }

    /// The log that a row writes to.
    pub(crate) fn write_log(self, server: &Arc<Server>, size: Size) -> Log {
        match self {
            Self::Seed => Log::new(server, Content::Empty),
            Self::Dataset => Log::of(server, size),
        }
    }

    /// The content of that log in words.
    pub(crate) fn write_text(self) -> &'static str {
        match self {
            Self::Seed => "into a log that was empty before the row: the dataset plays no part",
            Self::Dataset => "into a log that held the dataset and 100 past events before the row",
        }
    }

    /// The log that a row reads from.
    pub(crate) fn read_log(self, server: &Arc<Server>, size: Size) -> Log {
        match self {
            Self::Seed => Log::read_only(server, Content::Past),
            Self::Dataset => Log::of(server, size).as_read_only(),
        }
    }

    /// The content of that log in words.
    pub(crate) fn read_text(self) -> &'static str {
        match self {
            Self::Seed => "the log holds these 100 events alone: the dataset plays no part",
            Self::Dataset => "they are the last of a log with the dataset",
        }
    }
}

/// All pairs. Those with the same first element follow each other.
pub(crate) fn product<A: Copy, B: Clone>(
    first: impl IntoIterator<Item = A>,
    second: impl IntoIterator<Item = B> + Clone,
) -> impl Iterator<Item = (A, B)> {
    first
        .into_iter()
        .flat_map(move |a| second.clone().into_iter().map(move |b| (a, b)))
}

/// A workload whose ids differ from those of all other workloads of this process.
pub(crate) fn workload() -> Workload {
    // Starts at 1, because 0 is the seed of the past events. Several workloads write to one log,
    // for example the row's and another process's, so each needs a different seed.
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Workload::new(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// `1 append`, `100 parallel appends`.
pub(crate) fn calls(count: usize, one: &str, several: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} parallel {several}"),
    }
}

/// The start of `100 parallel callers that make 10 appends in turn, each of 1 event`.
pub(crate) fn calls_in_turn(count: usize, turns: usize, one: &str, several: &str) -> String {
    match turns {
        1 => calls(count, one, several),
        _ => format!("{count} parallel callers that make {turns} {several} in turn, each"),
    }
}

/// The variant of rows whose callers make several appends, one after the other.
pub(crate) fn turns_variant(turns: usize) -> String {
    format!("{turns} appends in turn")
}

/// The variant of rows in which another process appends an event before each op.
pub(crate) const ANOTHER_IN_BETWEEN: &str = "another process in between";

/// The events of one call in words; see [`Appender::events`](super::appender::Appender::events).
pub(crate) fn events_text(count: usize) -> String {
    match count {
        1 => "1 CourseOffered".to_owned(),
        _ => format!("{count} events (a course, a student, an enrollment, and so on)"),
    }
}
