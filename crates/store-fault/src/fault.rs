use std::error::Error;
use std::io;
use std::iter::successors;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::Reason;

/// A fault of the world below a store, and what the caller can do next. Unless a variant says otherwise,
/// nothing was written. The table in `crates/ERRORS.md` of the repository lists all variants.
///
/// The stores' errors have it as their source, so [`Fault::in_chain`] finds it in any error that one of
/// them caused. Each caller of a failed batch gets a copy.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The database can't be reached, or the session there was spoiled and has been given up. Try again
    /// later. A wrong password or a missing database is a [`Fault::Refused`].
    #[error("the database can't be reached: {0}")]
    Unreachable(#[source] Reason),
    /// The database takes no writes: the server is a standby, as after a failover, or
    /// `default_transaction_read_only` is on, as some hosters set it when a disk is nearly full. Try
    /// again later; each try opens a new session.
    #[error("the database is read-only: {0}")]
    ReadOnly(#[source] Reason),
    /// The store's file or its folder can't be written, or the store was opened only for reads. Open the
    /// file for reads, or give this program's user write access to the file and its folder.
    #[error("{} can't be written: {reason}", path.display())]
    ReadOnlyFile {
        /// The file.
        path: PathBuf,
        /// Why it can't be written.
        reason: Arc<str>,
    },
    /// The disk of the database is full. Make room, then try again.
    #[error("the disk is full: {0}")]
    DiskFull(#[source] Reason),
    /// The operating system could not read or write a file of the database. Check the disk, then open
    /// a new store.
    #[error("a file of the database can't be read or written: {0}")]
    FileFailed(#[source] Reason),
    /// The store's file was moved, removed or replaced while the store was open. Close the store, put
    /// the right file in place and open a new store.
    #[error("{} was moved, removed or replaced while the store was open", path.display())]
    FileMoved {
        /// The path that no longer leads to the store's file.
        path: PathBuf,
    },
    /// The store's file is not a database. Name the right file, or restore it from a backup.
    #[error("the file can't be used: {0}")]
    NotADatabase(#[source] Reason),
    /// The call exceeded its time limit. Try again later.
    #[error("{operation} took longer than {limit:?}")]
    TimedOut {
        /// The call: `append`, `write`, `read`, `open`.
        operation: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// Another session held a lock for longer than the store waits. Try again later.
    #[error("another session holds a lock: {0}")]
    Locked(#[source] Reason),
    /// The database gave the statement up: it ended a deadlock, lacks memory or free sessions, or an
    /// operator ordered it. Try again later.
    #[error("the database gave up: {0}")]
    Aborted(#[source] Reason),
    /// The database refused the statement or the session, or sent what the store can't read. Correct the
    /// fault that the message names.
    #[error("the database failed: {0}")]
    Refused(#[source] Reason),
    /// Tables or functions in the database differ from those of this version, or belong to another
    /// program. Undo the change, reinstall the schema, or choose another database.
    #[error("schema {schema} is not as installed: {}", differences.join("; "))]
    SchemaChanged {
        /// The schema, or the file.
        schema: String,
        /// One line for each object that is missing or differs.
        differences: Vec<String>,
    },
    /// A newer version of the library installed the schema. Update the library in this program.
    #[error("schema {schema} has version {found}, this library supports up to {supported}")]
    SchemaTooNew {
        /// The schema, or the file.
        schema: String,
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

impl Fault {
    /// A [`Fault::SchemaChanged`] of the schema, or the file, with this name.
    pub fn schema_changed(schema: impl Into<String>, differences: Vec<String>) -> Self {
        Self::SchemaChanged {
            schema: schema.into(),
            differences,
        }
    }

    /// Whether the same call may succeed later, although neither the call nor the program changes: the
    /// database was unreachable, busy, locked, read-only or out of space.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_)
                | Self::ReadOnly(_)
                | Self::DiskFull(_)
                | Self::TimedOut { .. }
                | Self::Locked(_)
                | Self::Aborted(_)
        )
    }

    /// The words of the database, its driver or the operating system, if there are any.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Unreachable(reason)
            | Self::ReadOnly(reason)
            | Self::DiskFull(reason)
            | Self::FileFailed(reason)
            | Self::NotADatabase(reason)
            | Self::Locked(reason)
            | Self::Aborted(reason)
            | Self::Refused(reason) => Some(reason),
            Self::ReadOnlyFile { .. }
            | Self::FileMoved { .. }
            | Self::TimedOut { .. }
            | Self::SchemaChanged { .. }
            | Self::SchemaTooNew { .. }
            | Self::Closed
            | Self::FeatureDisabled { .. }
            | Self::Panicked => None,
        }
    }

    /// The database's code, if it sent one.
    pub fn code(&self) -> Option<&str> {
        self.reason()?.code()
    }

    /// The first fault among an error and its sources.
    pub fn in_chain<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        successors(Some(error), |error| source(*error)).find_map(of)
    }
}

/// The fault that the error is. A shared error hides its type behind the `Arc`.
fn of<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Fault> {
    error.downcast_ref().or_else(|| {
        let shared: &Arc<dyn Error + Send + Sync> = error.downcast_ref()?;
        shared.downcast_ref()
    })
}

/// The source of an error. `io::Error` leaves out the error that it wraps, and names that error's source.
fn source<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    let wrapped = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}
