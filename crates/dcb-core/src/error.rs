use std::sync::Arc;

use store_fault::{Fault, Problem, SharedError};
use uuid::Uuid;

use crate::{Bookmark, Position};

/// Why a call to a store failed, and what the caller can do next. The table in `crates/ERRORS.md` of
/// the repository lists all variants.
// Sources are in an `Arc`, so that each caller of a failed batch can get a copy of its error.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is invalid; nothing was written. Correct the named field.
    #[error("{field} {problem}")]
    Invalid {
        /// The field, as a path: `type`, `events[3].tags`, `query.items`.
        field: String,
        /// The problem.
        problem: Problem,
    },
    /// An event that the decision did not see matches one of its conditions; nothing was written.
    /// Read again, then decide again. Only the state behind this condition has changed for certain.
    #[error("the event at position {position} matches conditions[{condition}] of the append")]
    Conflict {
        /// The first event that is after the `after` of a condition and matches it.
        position: Position,
        /// The index in [`Append::conditions`](crate::Append::conditions) of the first condition
        /// that this event violates; 0 if there is only one.
        condition: usize,
    },
    /// The position is greater than the head, so a failover or a clean-up has shortened the log
    /// since the caller read it. Nothing was written. Read again from the start.
    #[error("position {after} is beyond the head {}", Position::number_or_zero(*.head))]
    AfterBeyondHead {
        /// The caller's position.
        after: Position,
        /// The last position of the log, `None` when it is empty.
        head: Option<Position>,
    },
    /// The event at the position is not the one that the caller's [`Bookmark`] names: the log was
    /// restored from a backup, failed over to a replica that was behind, or was emptied. Nothing was
    /// written. The caller's state may contain lost events. Build it again from the start, or go on
    /// from a plain position on purpose; see the guide on operating.
    #[error(
        "the event at position {position} is not the one that was read: the log was restored, failed \
         over or emptied since"
    )]
    PastReplaced {
        /// The position.
        position: Position,
    },
    /// The id occurs twice in one append, belongs to a stored event with other content, or is
    /// stored while other events of the append are not. Nothing was written. Use new ids.
    #[error("event id {id} is already used")]
    DuplicateId {
        /// The first such id of the append.
        id: Uuid,
    },
    /// The upstream position is not greater than the last one tracked; nothing was written. It was
    /// processed before, so skip it.
    #[error("position {tracked} of {origin} is already tracked")]
    AlreadyTracked {
        /// The upstream source.
        origin: String,
        /// The last position tracked for it.
        tracked: u64,
    },
    /// The checkpoint differs from the runner's last one: another runner moved it, or the projection
    /// was reset. Nothing was written. Continue from the stored checkpoint.
    #[error("the checkpoint of {name} is {actual}, expected {expected}",
        actual = or_zero(.actual), expected = or_zero(.expected))]
    CheckpointMoved {
        /// The projection.
        name: String,
        /// The checkpoint that the runner expected.
        expected: Option<Bookmark>,
        /// The stored checkpoint.
        actual: Option<Bookmark>,
    },
    /// The handler of a projection failed; its batch was rolled back. If a transient fault of a store
    /// is among its sources, the runner repeats the batch. If not, fix the handler, then run the
    /// projection again. It continues from its checkpoint.
    #[error("the handler of {name} failed: {source}")]
    Handler {
        /// The projection.
        name: String,
        /// The handler's error.
        source: SharedError,
    },
    /// An event of a sliced projection has no key, or several. Nothing was written. Give events without a
    /// key one ([`SliceKey::or_without`](crate::SliceKey::or_without)), or choose one of several
    /// ([`SliceKey::by`](crate::SliceKey::by)).
    #[error("the event at position {position} has {found} keys, a sliced projection needs one")]
    NotOneKey {
        /// The position of the event.
        position: Position,
        /// The number of its keys.
        found: usize,
    },
    /// A later version of the projection has taken the place of this one. Stop the runner.
    #[error("version {version} of {name} is retired: a later version has taken its place")]
    Superseded {
        /// The projection.
        name: String,
        /// The version of the runner.
        version: u32,
    },
    /// The store is already running the maximum number of projections; nothing was read. Try again
    /// later, or raise the limit.
    #[error("{current} projections are running, the limit is {max}")]
    TooManyProjections {
        /// The limit.
        max: usize,
        /// The number of running projections when this one was refused.
        current: usize,
    },
    /// Every attempt at a decision ended in a conflict. Try again later.
    #[error(
        "all {attempts} attempts at the decision ended in a conflict, the last one with the event at \
         position {position}"
    )]
    RetriesExhausted {
        /// The number of attempts.
        attempts: u32,
        /// The conflicting position of the last attempt.
        position: Position,
    },
    /// The append may or may not have been committed. Append the same events with the same ids
    /// again, as [`append_until_known`](crate::append_until_known) does. If they are stored, the
    /// store returns their positions.
    #[error("{}", unknown_outcome(ids))]
    OutcomeUnknown {
        /// The ids of the events; empty for a `clear`.
        ids: Vec<Uuid>,
    },
    /// Events lack the keys that find them, as after a restore or a publication without
    /// the table of keys. Reads by tag would miss these events, and conditions would not protect them,
    /// so the store refuses to open. Call the named function; it gives each event its keys.
    #[error(
        "log {log} can't find its events by their tags: {missing}; give each event its keys with {remedy}"
    )]
    KeysMissing {
        /// The log's schema, or its file.
        log: String,
        /// What is missing.
        missing: String,
        /// The function to call, for example `dcb_core::postgres::rebuild_keys`.
        remedy: &'static str,
    },
    /// The data of an event is not JSON of the expected shape. Correct the program or the data.
    #[error("the data is not the expected JSON: {source}")]
    Json {
        /// The error of `serde_json`.
        source: SharedError,
    },
    /// The data of a stored event is not JSON of the shape that the program expects. Correct the
    /// program, or read old shapes through [`Upcasting`](crate::Upcasting).
    #[error("the event at position {position} ({event_type}) is not the expected JSON: {source}")]
    Unreadable {
        /// The position of the event.
        position: Position,
        /// The type of the event.
        event_type: Arc<str>,
        /// The error of `serde_json`.
        source: SharedError,
    },
    /// The data of a stored event does not have the shape of its version. Extend the upcast of that
    /// version to accept the event.
    #[error(
        "the event at position {position} ({event_type} version {version}) can't be upcast: {source}"
    )]
    Upcast {
        /// The position of the event.
        position: Position,
        /// The type of the event.
        event_type: Arc<str>,
        /// The version of its data.
        version: u32,
        /// The error of `serde_json`.
        source: SharedError,
    },
    /// A stored event has a version newer than any this program supports. Update the program.
    #[error(
        "the event at position {position} ({event_type}) has version {found}, this program supports up to {supported}"
    )]
    VersionTooNew {
        /// The position of the event.
        position: Position,
        /// The type of the event.
        event_type: Arc<str>,
        /// The version of its data.
        found: u32,
        /// The newest version that this program supports.
        supported: u32,
    },
    /// An entry of an import is not a valid event. Earlier entries may have been appended. Correct
    /// the entry, then import again.
    #[error("{entry} can't be imported: {source}")]
    Import {
        /// The entry: `line 7`, `position 7`.
        entry: String,
        /// The problem.
        source: SharedError,
    },
    /// Reading an import, or writing an export or a backup failed. Fix the cause, then continue after the last
    /// reported event.
    #[error("the transfer failed: {source}")]
    Io {
        /// The operating system's error.
        source: Arc<std::io::Error>,
    },
    /// The server, the file, the disk or the schema below the store has a fault. The fault says what to do.
    #[error("{0}")]
    Fault(#[from] Fault),
}

impl Error {
    /// Whether the same call may succeed later, although neither the call nor the program changes: the
    /// database was unreachable, busy, locked, read-only or out of space, it aborted this transaction
    /// in favor of another, or too many calls were under way. A conflict of an append is not
    /// transient: the caller has to read and decide again.
    ///
    /// A loop that repeats transient errors needs a pause and a limit: a full disk may stay full.
    /// [`RetriesExhausted`](Self::RetriesExhausted) comes only from calls that decide, and repeating
    /// such a call decides again.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Fault(fault) => fault.is_transient(),
            Self::Handler { source, .. } => {
                Fault::in_chain(source).is_some_and(Fault::is_transient)
            }
            // The call repeats the decision.
            Self::TooManyProjections { .. } | Self::RetriesExhausted { .. } => true,
            // `OutcomeUnknown` is not transient: an append without ids would get new ids when
            // repeated, and could be stored twice.
            _ => false,
        }
    }
}

impl Error {
    /// Whether the log does not have the event up to which the caller knows it.
    pub(crate) fn is_of_another_past(&self) -> bool {
        matches!(
            self,
            Self::AfterBeyondHead { .. } | Self::PastReplaced { .. }
        )
    }
}

fn or_zero(checkpoint: &Option<Bookmark>) -> String {
    checkpoint.map_or("0".to_owned(), |checkpoint| checkpoint.to_string())
}

fn unknown_outcome(ids: &[Uuid]) -> &'static str {
    if ids.is_empty() {
        "the outcome is unknown: read the log to learn it"
    } else {
        "the outcome of the append is unknown: append the same events with the same ids again"
    }
}
