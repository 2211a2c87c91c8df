//! The rows, and the questions that some of them answer.

use super::form::Form;
use super::roster::{Ground, Peer, Place};
use peer_protocol::Operation;
use serde::{Deserialize, Serialize};

/// Events that a store of ours takes while it is filled.
const LOADED_PER_SECOND: f64 = 40_000.0;
/// A log of a million events takes as much, so it does not fit beside what its process needs.
const SCARCE_BYTES: u64 = 256 << 20;
/// The time of a run divided by that of its turns and of the growth.
const BESIDE_TURNS: f64 = 1.4;

/// A row of the page: the same calls by every peer of a ground.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowPlan {
    /// The call in words.
    pub text: String,
    /// The work of each call.
    pub operation: Operation,
    /// How many callers call at a time.
    pub callers: usize,
    /// The most calls of one turn.
    pub limit: Option<u64>,
    /// One long turn of each store instead of short ones. Its seconds are the samples.
    pub is_sustained: bool,
    /// The memory of each store's process with its part of the page cache; `None` if the machine alone limits it.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
}

/// A question of a reader who chooses a store.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// The question in few words.
    pub text: &'static str,
    /// Whose peers answer it.
    pub ground: Ground,
    /// The row with the answer.
    pub operation: Operation,
    /// The callers of that row.
    pub callers: usize,
}

/// The README has room for these.
const IN_README: [&str; 5] = [
    "Embedded, one writer",
    "A server, 100 callers",
    "A server, a course opens for 100 callers",
    "A server, read an entity of 34 events",
    "One writer of messages",
];

impl Question {
    /// Whether the README answers it too.
    pub(super) fn is_in_readme(&self) -> bool {
        IN_README.contains(&self.text)
    }
}

/// A row of turns. A cold decision uses up a student, so `students` and the rounds limit a turn of them.
fn row(
    text: &str,
    operation: Operation,
    callers: usize,
    students: usize,
    rounds: usize,
) -> RowPlan {
    let is_cold = operation == Operation::DecideCold;
    RowPlan {
        text: text.to_owned(),
        operation,
        callers,
        limit: is_cold.then_some((students / (rounds + 1)) as u64),
        is_sustained: false,
        memory_bytes: None,
    }
}

/// The rows of a ground, in the order in which they are measured: reads before writes, since the writes
/// of a fast store make its log longer.
pub fn rows(ground: Ground, students: usize, rounds: usize) -> Vec<RowPlan> {
    let row = |text: &str, operation, callers| row(text, operation, callers, students, rounds);
    let sustained = |row: RowPlan| RowPlan {
        text: format!("{}, sustained", row.text),
        is_sustained: true,
        ..row
    };
    if ground == Ground::Messages {
        return vec![
            row("read a stream of 10 messages", Operation::ReadStream, 1),
            row("read a stream of 10 messages", Operation::ReadStream, 8),
            row(
                "read 100 messages of a category",
                Operation::ReadCategory,
                1,
            ),
            row("write a message", Operation::WriteMessage, 1),
            row("write a message", Operation::WriteMessage, 8),
            row("write a message", Operation::WriteMessage, 100),
            sustained(row("write a message", Operation::WriteMessage, 100)),
        ];
    }
    if ground == Ground::Series {
        return series_rows(row);
    }
    let read = |events| Operation::ReadCourse { events };
    let decide = |courses| Operation::Decide { courses };
    let batch = |events| Operation::AppendBatch { events };
    let scarce = RowPlan {
        memory_bytes: Some(SCARCE_BYTES),
        ..row(
            "read the 34 events of an entity, with 256 MB of memory",
            Operation::ReadAnyCourse,
            16,
        )
    };
    let all = vec![
        row("read the 5 events of an entity", read(5), 1),
        row("read the 34 events of an entity", read(34), 1),
        row("read the 34 events of an entity", read(34), 8),
        row("read the 34 events of an entity", read(34), 100),
        row("read the 100 events of an entity", read(100), 1),
        scarce,
        row("read the whole log", Operation::ReadLog, 1),
        row(
            "decide on a student for the first time",
            Operation::DecideCold,
            1,
        ),
        row("decide on the same course again", decide(1), 1),
        row("decide on 8 courses, one per caller", decide(8), 8),
        row("decide on 1,000 courses", decide(1_000), 100),
        row("100 callers decide on one new course", Operation::Rush, 100),
        row(
            "append one event, until a subscription delivers it",
            Operation::Deliver,
            1,
        ),
        row("append one event on a condition", Operation::AppendIf, 1),
        row("append one event on a condition", Operation::AppendIf, 8),
        row("append one event on a condition", Operation::AppendIf, 100),
        row("append 64 events on a condition", batch(64), 1),
        row("append 64 events on a condition", batch(64), 64),
        row("append 512 events on a condition", batch(512), 1),
        row("append 512 events on a condition", batch(512), 64),
        sustained(row(
            "append one event on a condition",
            Operation::AppendIf,
            100,
        )),
    ];
    // A process of a store on a server is not the one that needs the memory.
    let has_row = |row: &RowPlan| ground == Ground::Embedded || row.memory_bytes.is_none();
    all.into_iter().filter(has_row).collect()
}

/// The rows of time series, on larger stores too.
fn series_rows(row: impl Fn(&str, Operation, usize) -> RowPlan) -> Vec<RowPlan> {
    let write = |series| Operation::WriteSamples { series };
    vec![
        row("read 60 samples of a series", Operation::ReadSamples, 1),
        row("write a sample", write(1), 1),
        row("write a sample", write(1), 8),
        row("write a sample of each of 1,000 series", write(1_000), 1),
    ]
}

/// The rows that show how a store grows.
pub(super) fn growth_rows(ground: Ground, students: usize, rounds: usize) -> Vec<RowPlan> {
    let row = |text: &str, operation, callers| row(text, operation, callers, students, rounds);
    if ground == Ground::Messages {
        return vec![
            row("read a stream of 10 messages", Operation::ReadStream, 1),
            row(
                "read 100 messages of a category",
                Operation::ReadCategory,
                1,
            ),
            row("write a message", Operation::WriteMessage, 1),
            row("write a message", Operation::WriteMessage, 100),
        ];
    }
    if ground == Ground::Series {
        return series_rows(row);
    }
    let entity = Operation::ReadCourse { events: 34 };
    let anywhere = Operation::AppendBatch { events: 1 };
    vec![
        row("read the 34 events of an entity", entity, 1),
        row(
            "decide on a student for the first time",
            Operation::DecideCold,
            1,
        ),
        row("append one event on a condition", Operation::AppendIf, 1),
        row("append one event on a condition", Operation::AppendIf, 100),
        row(
            "append one event, if the whole log has none with its tag",
            anywhere,
            100,
        ),
    ]
}

/// About how many seconds a run takes, without the time to build: the turns, and what loads, races and
/// calls that outlast their turn took in earlier runs.
pub fn seconds(peers: &[Peer], form: Form) -> f64 {
    let turns = |plan: &RowPlan| match plan.is_sustained {
        true => form.sustained_seconds(),
        false => form.seconds() * form.rounds() as f64,
    };
    let loaded = |events: usize| events as f64 / LOADED_PER_SECOND;
    let of_peer = |peer: &Peer| {
        let scarce = match (peer.ground, peer.place) {
            (Ground::Embedded, Place::Folder) => loaded(form.scarce_content().events),
            _ => 0.0,
        };
        let measured: f64 = rows(peer.ground, 0, 1).iter().map(turns).sum();
        let logs = form.sizes(peer.ground);
        let grown: f64 = growth_rows(peer.ground, 0, 1).iter().map(turns).sum();
        let growth = if peer.grows {
            grown * logs.len() as f64 + loaded(logs.iter().sum())
        } else {
            0.0
        };
        (measured + growth) * BESIDE_TURNS + scarce
    };
    peers.iter().map(of_peer).sum()
}

/// The questions, in the order of the page.
pub fn questions() -> Vec<Question> {
    use Ground::{Embedded, Messages, Series, Server};
    let question = |ground, text, operation, callers| Question {
        text,
        ground,
        operation,
        callers,
    };
    let entity = Operation::ReadCourse { events: 34 };
    let import = Operation::AppendBatch { events: 512 };
    let again = Operation::Decide { courses: 1 };
    let sample = |series| Operation::WriteSamples { series };
    vec![
        question(Embedded, "Embedded, one writer", Operation::AppendIf, 1),
        question(
            Embedded,
            "Embedded, 100 threads write",
            Operation::AppendIf,
            100,
        ),
        question(Embedded, "Embedded, read an entity of 34 events", entity, 1),
        question(
            Embedded,
            "Embedded, read an entity of a log that does not fit into memory",
            Operation::ReadAnyCourse,
            16,
        ),
        question(Embedded, "Embedded, decide again", again, 1),
        question(
            Embedded,
            "Embedded, a course opens for 100 callers",
            Operation::Rush,
            100,
        ),
        question(Embedded, "Embedded, import 512 events at a time", import, 1),
        question(Server, "A server, one caller", Operation::AppendIf, 1),
        question(Server, "A server, 100 callers", Operation::AppendIf, 100),
        question(Server, "A server, read an entity of 34 events", entity, 1),
        question(
            Server,
            "A server, decide for the first time",
            Operation::DecideCold,
            1,
        ),
        question(Server, "A server, decide again", again, 1),
        question(
            Server,
            "A server, a course opens for 100 callers",
            Operation::Rush,
            100,
        ),
        question(Server, "A server, import 512 events at a time", import, 1),
        question(
            Server,
            "A server, until an event reaches a subscriber",
            Operation::Deliver,
            1,
        ),
        question(
            Messages,
            "One writer of messages",
            Operation::WriteMessage,
            1,
        ),
        question(
            Messages,
            "100 writers of messages",
            Operation::WriteMessage,
            100,
        ),
        question(Messages, "Read a stream", Operation::ReadStream, 1),
        question(Messages, "Read a category", Operation::ReadCategory, 1),
        question(Series, "Embedded, one sample at a time", sample(1), 1),
        question(
            Series,
            "Embedded, samples of 1,000 series",
            sample(1_000),
            1,
        ),
        question(Series, "Embedded, read a range", Operation::ReadSamples, 1),
    ]
}
