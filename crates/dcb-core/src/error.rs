use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::Position;

/// Why a call to a store did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is not acceptable; nothing was written. Correct the named field.
    #[error("{field} {problem}")]
    Invalid {
        /// The field, as a path: `type`, `events[3].tags`, `query.items`.
        field: String,
        /// What is wrong with it.
        problem: Problem,
    },
    /// Something that the decision was based on has changed; nothing was written. Read again,
    /// decide again.
    #[error("an event that the condition excludes is at position {position}")]
    Conflict {
        /// The first event after the condition's `after` that matches it.
        position: Position,
    },
    /// The position is greater than the head: the log was shortened (by a failover or a clean-up)
    /// since it was read. Nothing was written. Read again from the start.
    #[error("position {after} is beyond the head {}", Position::number_or_zero(*.head))]
    AfterBeyondHead {
        /// The position that was given.
        after: Position,
        /// The last position of the log, `None` when it is empty.
        head: Option<Position>,
    },
    /// The id is taken by an event with other content, by a part of the batch only, or twice in
    /// one batch; nothing was written. Give the events new ids.
    #[error("event id {id} is taken")]
    DuplicateEventId {
        /// The first such id of the batch.
        id: Uuid,
    },
    /// The tracked position does not increase; nothing was written. The upstream position was
    /// processed before: skip it.
    #[error("{tracked} was tracked for {origin} already")]
    AlreadyTracked {
        /// The upstream source.
        origin: String,
        /// The position last tracked for it.
        tracked: u64,
    },
    /// The checkpoint is not where this runner left it: another one runs the same projection, or it
    /// was reset. Nothing was written. Go on from the checkpoint as it is.
    #[error("the checkpoint of {name} is {actual} instead of {expected}",
        actual = Position::number_or_zero(*.actual), expected = Position::number_or_zero(*.expected))]
    CheckpointMoved {
        /// The projection.
        name: String,
        /// Where the runner left it.
        expected: Option<Position>,
        /// Where it is.
        actual: Option<Position>,
    },
    /// The handler of a projection failed; nothing of its batch was written. Mend the handler, then
    /// run the projection again: it goes on from its checkpoint.
    #[error("the handler of {name} failed: {source}")]
    Handler {
        /// The projection.
        name: String,
        /// What the handler returned.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// As many projections as the store allows at once are running; nothing was read. Try again
    /// later, or raise the limit.
    #[error("{current} projections are running, {max} may")]
    TooManyProjections {
        /// The limit.
        max: usize,
        /// How many were running when this one was refused.
        current: usize,
    },
    /// Every try of a decision met a conflict. Try again later.
    #[error("the decision met a conflict in each of {attempts} attempts")]
    RetriesExhausted {
        /// How often it was decided.
        attempts: u32,
        /// The conflict of the last attempt.
        position: Position,
    },
    /// The time allowed for the call ran out. Of an append nothing was written; try again.
    #[error("{operation} took longer than {limit:?}")]
    Timeout {
        /// `append`, `read`, `wait` or `clear`.
        operation: &'static str,
        /// The time allowed.
        limit: Duration,
    },
    /// It can't be told whether the append was committed. Append the same events with the same ids
    /// again: what was stored is found, and the first positions are returned.
    #[error("the outcome of the append is unknown")]
    OutcomeUnknown {
        /// The ids of the events; none of a `clear`.
        ids: Vec<Uuid>,
    },
    /// The store was closed. Open a new one.
    #[error("the store is closed")]
    Closed,
    /// The database can't be reached; of an append nothing was written. Try again later.
    #[error("the database can't be reached: {reason}")]
    Unavailable {
        /// What the driver reported.
        reason: Arc<str>,
    },
    /// The tables or functions in the database are not those that this version works with.
    /// Install the schema anew, or undo the change.
    #[error("schema {schema} is not as installed: {}", differences.join("; "))]
    SchemaMismatch {
        /// The log's schema.
        schema: String,
        /// A line for each object that is missing or differs.
        differences: Vec<String>,
    },
    /// The schema was installed by a newer version. Update this one.
    #[error("schema {schema} has version {found}, this library knows up to {supported}")]
    SchemaTooNew {
        /// The log's schema.
        schema: String,
        /// The version found.
        found: i32,
        /// The newest version that this library can work with.
        supported: i32,
    },
    /// The data of an event is not JSON of the expected shape.
    #[error("the data is not the expected JSON: {reason}")]
    Json {
        /// What serde reported.
        reason: Arc<str>,
    },
    /// The data of a stored event is not of the shape that its version has. Add what the event
    /// needs to the upcast of its version.
    #[error(
        "the event at position {position} ({event_type} version {version}) can't be upcast: {reason}"
    )]
    Upcast {
        /// Where the event is.
        position: Position,
        /// Its type.
        event_type: Arc<str>,
        /// The version of its data.
        version: u32,
        /// What serde reported.
        reason: Arc<str>,
    },
    /// A stored event has a version that this program does not know. Update the program.
    #[error(
        "the event at position {position} ({event_type}) has version {found}, this program knows up to {supported}"
    )]
    VersionTooNew {
        /// Where the event is.
        position: Position,
        /// Its type.
        event_type: Arc<str>,
        /// The version of its data.
        found: u32,
        /// The newest version that this program knows.
        supported: u32,
    },
    /// An entry of an import is not an event that the store can hold; entries before it may have
    /// been appended. Correct the entry, then import again.
    #[error("{entry} can't be imported: {reason}")]
    Import {
        /// The entry: `line 7`, `position 7`.
        entry: String,
        /// What is wrong with it.
        reason: Arc<str>,
    },
    /// Reading an import or writing an export failed. See to the file, then go on after the last
    /// event that was reported.
    #[error("the transfer failed: {reason}")]
    Io {
        /// What the operating system reported.
        reason: Arc<str>,
    },
    /// The database refused or failed the statement; of an append nothing was written.
    #[error("the database failed: {message}{}", code.as_ref().map(|code| format!(" (SQLSTATE {code})")).unwrap_or_default())]
    Database {
        /// The SQLSTATE, where the database sent one.
        code: Option<Arc<str>>,
        /// The database's message.
        message: Arc<str>,
    },
    /// The code that commits appends panicked; whether this append was written is unknown. Report
    /// it, and append the same ids again.
    #[error("the committing code panicked")]
    Panicked,
}

impl Error {
    /// Whether the same call may succeed later though nobody changes anything: the database was
    /// away, busy, or chose this transaction to give way to another. A conflict is none of these:
    /// read again, and decide anew.
    pub fn is_transient(&self) -> bool {
        /// Transaction rollback, insufficient resources, operator intervention.
        const CLASSES: [&str; 3] = ["40", "53", "57"];
        match self {
            Self::Unavailable { .. } | Self::Timeout { .. } => true,
            Self::Database {
                code: Some(code), ..
            } => CLASSES.iter().any(|class| code.starts_with(class)),
            _ => false,
        }
    }
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It has nothing in it.
    #[error("is empty")]
    Empty,
    /// A text has too many characters.
    #[error("has {actual} characters, {max} are allowed")]
    TooLong {
        /// The limit, in characters.
        max: usize,
        /// The length, in characters.
        actual: usize,
    },
    /// A text has a NUL character.
    #[error("contains a NUL character")]
    ContainsNul,
    /// A list has too many entries.
    #[error("has {actual} entries, {max} are allowed")]
    TooMany {
        /// The limit.
        max: usize,
        /// The number of entries.
        actual: usize,
    },
    /// A number, or a size in bytes, is too large.
    #[error("is {actual}, at most {max} is allowed")]
    TooLarge {
        /// The limit.
        max: u64,
        /// The value.
        actual: u64,
    },
    /// A number is too small.
    #[error("is {actual}, at least {min} is required")]
    TooSmall {
        /// The limit.
        min: u64,
        /// The value.
        actual: u64,
    },
    /// A key that must be unique is there twice.
    #[error("has {key} twice")]
    Duplicate {
        /// The key.
        key: String,
    },
    /// A text does not have the expected form.
    #[error("is malformed: {reason}")]
    Malformed {
        /// What was expected.
        reason: String,
    },
}
