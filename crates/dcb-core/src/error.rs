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
        /// `append` or `read`.
        operation: &'static str,
        /// The time allowed.
        limit: Duration,
    },
    /// It can't be told whether the append was committed. Append the same events with the same ids
    /// again: what was stored is found, and the first positions are returned.
    #[error("the outcome of the append is unknown")]
    OutcomeUnknown {
        /// The ids of the events.
        ids: Vec<Uuid>,
    },
    /// The store was closed. Open a new one.
    #[error("the store is closed")]
    Closed,
    /// The database can't be reached; nothing was written. Try again later.
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
    /// The database refused or failed the statement; nothing was written.
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
