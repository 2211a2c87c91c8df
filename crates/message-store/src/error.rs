use std::sync::Arc;

use store_fault::{Fault, Problem, SharedError};
use uuid::Uuid;

use crate::{ExpectedVersion, GlobalPosition, Position};

/// Why a call to a store failed, and what the caller can do next. The table in `crates/ERRORS.md` of
/// the repository lists all variants.
// Sources are in an `Arc`, so that each caller of a failed batch can get a copy of its error.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is invalid; nothing was written. Correct the named field.
    #[error("{field} {problem}")]
    Invalid {
        /// The field, as a path: `stream`, `data`, `messages[3]`, `consumer_group`.
        field: String,
        /// The kind of its failure.
        problem: Problem,
    },
    /// The stream has another version than the caller expected; nothing was written. Read the
    /// stream again and repeat the decision.
    #[error("wrong expected version: {expected} (stream {stream}, at {})", Position::number_or_minus_one(*.actual))]
    WrongExpectedVersion {
        /// The stream.
        stream: String,
        /// The version that the caller expected.
        expected: ExpectedVersion,
        /// The position of the stream's last message, `None` if the stream has no messages.
        actual: Option<Position>,
    },
    /// The id is already used: by a message with other content, by a message of another stream, by
    /// only some of the messages of the write, or twice within the write. Nothing was written. Give
    /// the messages new ids.
    #[error("message id {id} is taken")]
    DuplicateId {
        /// The first conflicting id in the write.
        id: Uuid,
    },
    /// The past of the store was replaced: another message is where the reader's last one was, or none.
    /// A restore from a backup does that, and a failover to a replica that was behind. The reader has
    /// handled messages that are not in the store, and may lack others that are. Rebuild from the start
    /// what it has derived, or go on from a plain position that you choose; the README tells how.
    #[error("the past of the store was replaced: the message handled at {position} is not there")]
    PastReplaced {
        /// The global position of the last message that the reader has handled.
        position: GlobalPosition,
    },
    /// The store ends before a message that the reader has handled, as after a restore or a failover.
    /// The ways on are those of [`Error::PastReplaced`].
    #[error("position {after} is beyond the head {}", .head.map_or(0, GlobalPosition::get))]
    AfterBeyondHead {
        /// The global position of the last message that the reader has handled.
        after: GlobalPosition,
        /// The last global position in the store, `None` if it is empty.
        head: Option<GlobalPosition>,
    },
    /// An imported message does not fit after the stored messages; nothing was written. Import into
    /// an empty store, or import only messages after the store's head.
    #[error("message {global_position} does not continue the stored messages: {reason}")]
    ImportConflict {
        /// The message's global position.
        global_position: GlobalPosition,
        /// The reason.
        reason: Arc<str>,
    },
    /// A line of an import is not a message, or not one that the store can hold. Earlier lines may
    /// be stored. Correct the line and import again: stored messages are skipped.
    #[error("line {line} can't be imported: {source}")]
    Import {
        /// The line's number, from 1.
        line: u64,
        /// The problem.
        source: SharedError,
    },
    /// The handler of a consumer failed at a message. The consumer has stopped before it
    /// ([`OnFailure::Stop`](crate::OnFailure)), or the message stays parked. Correct the handler, then run or
    /// replay again.
    #[error(
        "the handler of {consumer} failed at message {global_position} of stream {stream}: {source}"
    )]
    Handler {
        /// The consumer.
        consumer: String,
        /// The stream of the message.
        stream: String,
        /// The message's global position.
        global_position: GlobalPosition,
        /// The handler's error.
        source: SharedError,
    },
    /// A namespace with this name exists. Open it or choose another name.
    #[error("namespace {name} exists")]
    NamespaceExists {
        /// The name.
        name: String,
    },
    /// No namespace has this name. Create it.
    #[error("there is no namespace {name}")]
    NamespaceNotFound {
        /// The name.
        name: String,
    },
    /// The process may open no more files, and the namespaces in SQLite that are open are all held, by
    /// subscriptions or other users. Close some, or raise the process's limit of open files.
    #[error(
        "{open} namespaces are open and held, and the process may open no more files: close some, or raise its limit"
    )]
    TooManyNamespaces {
        /// The namespaces that are open.
        open: usize,
    },
    /// The store does not know whether the write was committed. Write the same messages again with
    /// these ids, as [`write_until_known`](crate::write_until_known) does: if they were stored, the
    /// store returns their positions.
    #[error("{}", unknown_outcome(ids))]
    OutcomeUnknown {
        /// The ids of the messages, including generated ones. Empty for calls other than writes,
        /// such as a deletion: read the store to learn the outcome.
        ids: Vec<Uuid>,
    },
    /// A message in SQLite has a category or correlation that does not follow from its stream's name and
    /// metadata, so reads of a category miss it. Someone changed the table with other tools. Call the
    /// named function; it derives both for each message.
    #[error(
        "message {global_position} has a category or correlation that is not its own, so reads of a category miss messages; derive them with {remedy}"
    )]
    ColumnsDiffer {
        /// The first such message that was found. There may be more.
        global_position: GlobalPosition,
        /// The function to call, `message_store::sqlite::rebuild_columns`.
        remedy: &'static str,
    },
    /// The schema has a table of messages that this library did not install, such as Message DB's.
    /// Adopt it with `postgres::Config::adopt_message_db`, or choose another schema.
    #[error(
        "the schema {schema} has a table of messages that this library did not install: if it is Message DB's, adopt it with Config::adopt_message_db, else choose another schema"
    )]
    ForeignSchema {
        /// The schema.
        schema: String,
    },
    /// The sequence of global positions is behind the stored messages, as after logical replication or
    /// a data-only restore, and the login may not advance it. Nothing was written. Run the statement of
    /// the message as the owner of the schema, or open a store as the owner once.
    #[error(
        "the sequence of global positions is behind the messages; as the owner of the schema, run: SELECT setval('\"{schema}\".messages_global_position_seq', max(global_position)) FROM \"{schema}\".messages"
    )]
    SequenceBehind {
        /// The schema.
        schema: String,
    },
    /// The data or metadata of a message is not JSON of the expected shape. Correct the program or the
    /// data.
    #[error("not the expected JSON: {source}")]
    Json {
        /// The error of `serde_json`.
        source: SharedError,
    },
    /// Reading or writing a file failed, in an export, an import or a backup. Fix the cause, then repeat
    /// the call: an import skips the messages that are stored.
    #[error("input or output failed: {source}")]
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
    /// database was unreachable, busy, locked, read-only or out of space, or it rolled this transaction
    /// back in favor of another. A wrong expected version is not transient: read the stream again and
    /// repeat the decision. Neither is a replaced past.
    ///
    /// A loop that repeats transient errors needs a pause and a limit: a full disk may stay full.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Fault(fault) if fault.is_transient())
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io {
            source: Arc::new(error),
        }
    }
}

fn unknown_outcome(ids: &[Uuid]) -> &'static str {
    if ids.is_empty() {
        "the outcome is unknown: read the store to learn it"
    } else {
        "the outcome of the write is unknown: write the same messages with the same ids again"
    }
}
