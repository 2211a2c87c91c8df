use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The kind of a fault, and what the caller can do next. Unless a kind says otherwise, nothing was
/// written. The table in `crates/ERRORS.md` of the repository lists all kinds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// The database can't be reached, or the session there was spoiled and has been given up. Try again
    /// later. A wrong password or a missing database is a [`FaultKind::Refused`].
    #[error("the database can't be reached")]
    Unreachable,
    /// The database takes no writes: the server is a standby, as after a failover, or
    /// `default_transaction_read_only` is on, as some hosters set it when a disk is nearly full. Try
    /// again later; each try opens a new session.
    #[error("the database is read-only")]
    ReadOnly,
    /// The store's file or its folder can't be written, or the store was opened only for reads. Open the
    /// file for reads, or give this program's user write access to the file and its folder.
    #[error("{} can't be written", path.display())]
    ReadOnlyFile {
        /// The file.
        path: Arc<Path>,
    },
    /// The disk of the database is full. Make room, then try again.
    #[error("the disk is full")]
    DiskFull,
    /// The operating system could not read or write a file of the database. Check the disk, then open
    /// a new store.
    #[error("a file of the database can't be read or written")]
    FileFailed,
    /// The store's file was moved, removed or replaced while the store was open. Close the store, put
    /// the right file in place and open a new store.
    #[error("{} was moved, removed or replaced while the store was open", path.display())]
    FileMoved {
        /// The path that no longer leads to the store's file.
        path: Arc<Path>,
    },
    /// The store's file is no database. Name the right file, or restore it from a backup.
    #[error("the file is not an SQLite database")]
    NotADatabase,
    /// The call exceeded its time limit. Try again later.
    #[error("{operation} took longer than {limit:?}")]
    TimedOut {
        /// What the store did: `append`, `write`, `read`, `open`.
        operation: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// Another session held a lock for longer than the database waits. Try again later.
    #[error("another session holds a lock")]
    Locked,
    /// The database gave the statement up: it ended a deadlock, lacks memory or free sessions, or an
    /// operator ordered it. Try again later.
    #[error("the database gave up")]
    Aborted,
    /// The database refused the statement or the session, or sent what the store can't read. Correct the
    /// fault that the message names.
    #[error("the database failed")]
    Refused,
    /// Tables or functions in the database differ from those of this version, or belong to another
    /// program. Undo the change, reinstall the schema, or choose another database.
    #[error("schema {schema} is not as installed: {}", differences.join("; "))]
    SchemaChanged {
        /// The schema, or the SQLite file.
        schema: Arc<str>,
        /// One line for each object that is missing or differs.
        differences: Arc<[String]>,
    },
    /// A newer version of the library installed the schema. Update the library in this program.
    #[error("schema {schema} has version {found}, this library supports up to {supported}")]
    SchemaTooNew {
        /// The schema, or the SQLite file.
        schema: Arc<str>,
        /// The installed version.
        found: i32,
        /// The newest version that this library supports.
        supported: i32,
    },
    /// The store was closed. Open a new one.
    #[error("the store is closed")]
    Closed,
    /// The program was compiled without the backend that the URL names. Turn the feature on.
    #[error("this program was compiled without the feature {feature}")]
    FeatureDisabled {
        /// The feature of the store's crate.
        feature: &'static str,
    },
    /// The code that commits panicked, so the events or messages may or may not be stored. Report the
    /// panic, and send the same ids again.
    #[error("the commit code panicked")]
    Panicked,
}

impl FaultKind {
    /// Whether the same call may succeed later, although neither the call nor the program changes: the
    /// database was unreachable, busy, locked, read-only or out of space.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable
            | Self::ReadOnly
            | Self::DiskFull
            | Self::TimedOut { .. }
            | Self::Locked
            | Self::Aborted => true,
            Self::ReadOnlyFile { .. }
            | Self::FileFailed
            | Self::FileMoved { .. }
            | Self::NotADatabase
            | Self::Refused
            | Self::SchemaChanged { .. }
            | Self::SchemaTooNew { .. }
            | Self::Closed
            | Self::FeatureDisabled { .. }
            | Self::Panicked => false,
        }
    }
}
