use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::{ExpectedVersion, GlobalPosition, Position};

/// Why a call to a store did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is not acceptable; nothing was written. Correct the named field.
    #[error("{field} {problem}")]
    Invalid {
        /// The field, as a path: `stream`, `data`, `messages[3]`, `consumer_group`.
        field: String,
        /// What is wrong with it.
        problem: Problem,
    },
    /// The stream is not where the caller expects it; nothing was written. Read it again, decide
    /// again.
    #[error("wrong expected version: {expected} (stream {stream}, at {})", Position::number_or_minus_one(*.actual))]
    WrongExpectedVersion {
        /// The stream.
        stream: String,
        /// What the caller expected.
        expected: ExpectedVersion,
        /// The position of the stream's last message, `None` where there is no stream.
        actual: Option<Position>,
    },
    /// The id is taken: by a message with other content or in another stream, by some of the
    /// messages of the write only, or twice in the write. Nothing was written. Give the messages
    /// new ids.
    #[error("message id {id} is taken")]
    IdConflict {
        /// The first such id of the write.
        id: Uuid,
    },
    /// An imported message does not continue what is stored; nothing of its part was written.
    /// Import into an empty store, or what comes after its head.
    #[error("message {global_position} does not continue what is stored: {reason}")]
    ImportConflict {
        /// The message's global position.
        global_position: GlobalPosition,
        /// What it does not fit to.
        reason: Arc<str>,
    },
    /// A line of an import is not a message; what came before it may be stored. Correct the line,
    /// and import again: what is stored is skipped.
    #[error("line {line} is not a message: {reason}")]
    InvalidLine {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        reason: Arc<str>,
    },
    /// There is a namespace of this name. Open it, or choose another name.
    #[error("namespace {name} exists")]
    NamespaceExists {
        /// The name.
        name: String,
    },
    /// There is no namespace of this name. Create it.
    #[error("there is no namespace {name}")]
    NamespaceNotFound {
        /// The name.
        name: String,
    },
    /// The time allowed for the call ran out. Of a write nothing was written; try again.
    #[error("{operation} took longer than {limit:?}")]
    Timeout {
        /// `write`, `read`, or what else was asked.
        operation: &'static str,
        /// The time allowed.
        limit: Duration,
    },
    /// It can't be told whether the write was committed. Write the same messages with these ids
    /// again: what was stored is found, and the first positions are returned.
    #[error("the outcome of the write is unknown")]
    OutcomeUnknown {
        /// The ids of the messages, those that the store made included; none of a call that writes no
        /// messages of its own, as an import or a deletion: look what became of it.
        ids: Vec<Uuid>,
    },
    /// The store was closed. Open a new one.
    #[error("the store is closed")]
    Closed,
    /// The database can't be reached; of a write nothing was stored. Try again later.
    #[error("the database can't be reached: {reason}")]
    Unavailable {
        /// What the driver reported.
        reason: Arc<str>,
    },
    /// What is in the database is not what this version works with. Restore it, or install anew.
    #[error("the schema is not as installed: {}", differences.join("; "))]
    SchemaMismatch {
        /// A line for each object that is missing or differs.
        differences: Vec<String>,
    },
    /// The schema was installed by a newer version. Update this one.
    #[error("the schema has version {found}, this library knows up to {supported}")]
    SchemaTooNew {
        /// The version found.
        found: i32,
        /// The newest version that this library can work with.
        supported: i32,
    },
    /// The data or metadata of a message is not JSON of the expected shape.
    #[error("not the expected JSON: {reason}")]
    Json {
        /// What serde reported.
        reason: Arc<str>,
    },
    /// A file or a stream of an export, an import or a backup failed.
    #[error("input or output failed: {reason}")]
    Io {
        /// What the system reported.
        reason: Arc<str>,
    },
    /// The database refused or failed the statement; of a write nothing was stored.
    #[error("the database failed: {message}{}", code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default())]
    Database {
        /// The SQLSTATE or the name of SQLite's result code, where there is one.
        code: Option<Arc<str>>,
        /// The database's message.
        message: Arc<str>,
    },
    /// The code that commits writes panicked; whether this write was stored is unknown. Report it,
    /// and write the same ids again.
    #[error("the committing code panicked")]
    Panicked,
}

impl Error {
    /// Whether the same call may succeed later though nobody changes anything: the database was
    /// away, busy, or chose this transaction to give way to another. A wrong expected version is
    /// none of these: read again, and decide anew.
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

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io {
            reason: error.to_string().into(),
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
    /// A text has a NUL character, or JSON an escaped one that the database can't store.
    #[error("contains a NUL character")]
    ContainsNul,
    /// A number, a count, or a size in bytes is too large.
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
        min: i64,
        /// The value.
        actual: i64,
    },
    /// What must be there once is there twice.
    #[error("has {key} twice")]
    Duplicate {
        /// What is repeated.
        key: String,
    },
    /// A text does not have the expected form.
    #[error("is malformed: {reason}")]
    Malformed {
        /// What was expected.
        reason: String,
    },
}
