//! The lines of the protocol.

use crate::{ContentSize, History, Latencies, Race};
use serde::{Deserialize, Serialize};

/// The first line of a peer: the store and its promises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its name.
    pub name: String,
    /// The version of the store.
    pub version: String,
    /// How safe a write is once the store has acknowledged it.
    pub durability: String,
    /// The operations that it can do.
    pub operations: Vec<Operation>,
    /// The promises beyond those of every store.
    pub promises: Vec<Promise>,
}

/// A promise that only some stores make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// Positions have no gaps.
    Dense,
    /// An append with the ids of an earlier one changes nothing, and returns its position.
    Repeats,
    /// An append is refused only if an event of the log matches its condition.
    Exact,
    /// A read sees every append that was acknowledged before it began.
    Fresh,
}

impl Promise {
    /// All promises.
    pub const ALL: [Self; 4] = [Self::Dense, Self::Repeats, Self::Exact, Self::Fresh];
}

impl Hello {
    /// A peer that stores events.
    pub fn events(name: &str, version: &str, durability: &str) -> Self {
        Self::new(name, version, durability, &Operation::EVENTS)
    }

    /// A peer that stores messages.
    pub fn messages(name: &str, version: &str, durability: &str) -> Self {
        Self::new(name, version, durability, &Operation::MESSAGES)
    }

    /// A peer that stores time series.
    pub fn series(name: &str, version: &str, durability: &str) -> Self {
        Self::new(name, version, durability, &Operation::SERIES)
    }

    fn new(name: &str, version: &str, durability: &str, operations: &[Operation]) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            durability: durability.to_owned(),
            operations: operations.to_vec(),
            promises: Vec::new(),
        }
    }

    /// The same with promises.
    #[must_use]
    pub fn promises(mut self, promises: &[Promise]) -> Self {
        self.promises = promises.to_vec();
        self
    }
}

/// A request to a peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Fill the empty store with the dataset.
    Prepare(ContentSize),
    /// An earlier process has filled the store with the dataset.
    Resume(ContentSize),
    /// Make calls, and answer with the sum of what they did.
    Run(Run),
    /// Run a race, and answer with its history.
    Race(Race),
}

/// A peer's reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The peer is up.
    Hello(Hello),
    /// The store has the dataset.
    Ready {
        /// The last position of its log.
        head: Option<u64>,
    },
    /// The calls have ended.
    Answer(Answer),
    /// The race has ended.
    History(History),
    /// The request was not done.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// Calls to make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The work of each call.
    pub operation: Operation,
    /// How many callers call at a time, each its next call once the last one has returned.
    pub callers: usize,
    /// For how long they begin calls.
    pub seconds: f64,
    /// The most calls of all callers together.
    pub limit: Option<u64>,
}

/// The work of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Appends one event with two tags, on condition that no event with its student has come after
    /// the position of the caller's last append.
    AppendIf,
    /// Appends this many events, on condition that the log has no event with their new tag.
    AppendBatch {
        /// Events of one append.
        events: usize,
    },
    /// Reads all events of a course that has this many, scattered through the log.
    ReadCourse {
        /// Events of the course: 5, 34 or 100.
        events: usize,
    },
    /// Reads all events of a course of 34, any of the log: most events of the log belong to one.
    ReadAnyCourse,
    /// Reads all events of the log.
    ReadLog,
    /// Appends one event, and waits until a subscription that began before it has delivered it.
    Deliver,
    /// Reads the events of a course, and appends one more on condition that no other has come.
    /// Each caller has its own courses and decides on them in turn.
    Decide {
        /// Courses of all callers together.
        courses: u64,
    },
    /// Such a decision on a student of the dataset on whom no decision was made before.
    DecideCold,
    /// All callers decide at the same moment on one new course that has 30 seats. Each call is the
    /// decision of one caller. A course that ends with another number of seats taken than it should
    /// have is a wrong result.
    Rush,
    /// Writes one message to one of the streams.
    WriteMessage,
    /// Reads a stream of 10 messages.
    ReadStream,
    /// Reads 100 messages of the category.
    ReadCategory,
    /// Writes one sample to each of this many series.
    WriteSamples {
        /// Series of one call. One call for one series writes to any, more are the same each time.
        series: usize,
    },
    /// Reads the 60 samples of a quarter of an hour of one series.
    ReadSamples,
}

impl Operation {
    /// The operations of a store of events.
    pub const EVENTS: [Self; 14] = [
        Self::AppendIf,
        Self::AppendBatch { events: 64 },
        Self::AppendBatch { events: 512 },
        Self::ReadCourse { events: 5 },
        Self::ReadCourse { events: 34 },
        Self::ReadCourse { events: 100 },
        Self::ReadAnyCourse,
        Self::ReadLog,
        Self::Deliver,
        Self::Decide { courses: 1 },
        Self::Decide { courses: 8 },
        Self::Decide { courses: 1_000 },
        Self::DecideCold,
        Self::Rush,
    ];

    /// The operations of a store of messages.
    pub const MESSAGES: [Self; 3] = [Self::WriteMessage, Self::ReadStream, Self::ReadCategory];

    /// The operations of a store of time series.
    pub const SERIES: [Self; 3] = [
        Self::WriteSamples { series: 1 },
        Self::WriteSamples { series: 1_000 },
        Self::ReadSamples,
    ];
}

/// The sum of all calls of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Calls that returned a result; a conflict that a call reports counts.
    pub calls: u64,
    /// Events or messages that they wrote or read.
    pub events: u64,
    /// Calls that ended in a conflict.
    pub conflicts: u64,
    /// Calls that failed otherwise.
    pub failures: u64,
    /// The first such failure.
    pub failure: Option<String>,
    /// Results that a right store can't give, see [`Operation::Rush`].
    pub wrong: u64,
    /// From the release of the callers to the return of the last call.
    pub seconds: f64,
    /// The latency of each call that returned a result.
    pub latencies: Latencies,
    /// Calls without those that conflicted, by the second in which they ended. Empty for a rush.
    #[serde(default)]
    pub by_second: Vec<u64>,
}
