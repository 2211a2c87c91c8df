use std::path::PathBuf;

use crate::Labels;
use crate::storage::StorageFailure;

/// Why a call did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A label's name is empty. Nothing was written; name the label.
    #[error("a label has no name")]
    EmptyLabelName,
    /// A name occurs twice among the labels. Nothing was written; give each label once.
    #[error("label {name} occurs twice")]
    DuplicateLabel {
        /// The label's name.
        name: String,
    },
    /// A label's name or value is longer than the limit. Nothing was written; shorten it.
    #[error("label {name} has {actual} bytes in its name or value, {max} may be")]
    LabelTooLong {
        /// The label's name, shortened to 64 characters.
        name: String,
        /// The longest that is accepted, in bytes.
        max: usize,
        /// How long it is.
        actual: usize,
    },
    /// A series has more labels than the limit. Nothing was written; use fewer labels, or raise
    /// [`Limits::labels_per_series`](crate::Limits::labels_per_series).
    #[error("{actual} labels, {max} may be")]
    TooManyLabels {
        /// The limit.
        max: usize,
        /// How many there are.
        actual: usize,
    },
    /// The labels name no metric. Nothing was written; add the label
    /// [`METRIC_NAME`](crate::METRIC_NAME).
    #[error("the labels {labels} name no metric")]
    MissingMetric {
        /// What was given.
        labels: Labels,
    },
    /// A new series would be one too many. Nothing was written; delete series, let retention end
    /// them, or raise [`Limits::series`](crate::Limits::series).
    #[error("there are {max} series, as many as may be")]
    TooManySeries {
        /// The limit.
        max: usize,
    },
    /// The memory that the engine may use is used. Nothing was written; delete, shorten retention,
    /// take metadata away, or raise [`Limits::bytes`](crate::Limits::bytes).
    #[error("{used} bytes are in use, {max} may be")]
    MemoryFull {
        /// The limit.
        max: usize,
        /// What is in use.
        used: usize,
    },
    /// The sample is older than the out-of-order window allows. Nothing was written; drop it, or
    /// widen [`DbOptions::out_of_order_window_ms`](crate::DbOptions::out_of_order_window_ms).
    #[error("timestamp {timestamp_ms} is older than {oldest_ms}, the oldest that is accepted")]
    OutOfOrder {
        /// The sample's timestamp.
        timestamp_ms: i64,
        /// The oldest that this series accepts now.
        oldest_ms: i64,
    },
    /// The sample has outlived [`Retention::age_ms`](crate::Retention::age_ms) before it came.
    /// Nothing was written; drop it, or keep samples longer.
    #[error("timestamp {timestamp_ms} is older than {oldest_ms}, the oldest that is kept")]
    BeyondRetention {
        /// The sample's timestamp.
        timestamp_ms: i64,
        /// The oldest that is kept now.
        oldest_ms: i64,
    },
    /// The series has a sample of that time, and [`DuplicatePolicy::Reject`] is chosen. Nothing was
    /// written; drop the sample.
    ///
    /// [`DuplicatePolicy::Reject`]: crate::DuplicatePolicy::Reject
    #[error("there is a sample at {timestamp_ms} already")]
    DuplicateTimestamp {
        /// The sample's timestamp.
        timestamp_ms: i64,
    },
    /// Another sample of the same series in the same batch was refused, so none of the series was
    /// written. Correct or drop that one, and write again.
    #[error("withheld, for another sample of the series was refused")]
    Withheld,
    /// A pattern of a matcher is no regular expression, or one too large to compile. Correct it.
    #[error("{pattern} is no usable regular expression: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What the parser says.
        reason: String,
    },
    /// The disk is full. Nothing of a write was kept, what other calls leave they say themselves; free
    /// space, and call again: the log goes on by itself. Reads are not concerned.
    #[error("the disk is full")]
    DiskFull(#[source] StorageFailure),
    /// A file could not be read or written. Nothing of a write was kept, what other calls leave they
    /// say themselves; mend the cause, and call again: the log goes on by itself. Reads are not
    /// concerned.
    #[error("a file could not be read or written")]
    Storage(#[source] StorageFailure),
    /// The write was applied and reads show it, but it is not durable yet: a crash now would lose
    /// it. Don't write it again: the log keeps it, and tries again until it succeeds.
    #[error("written, but not durable yet")]
    NotDurable(#[source] StorageFailure),
    /// A file was damaged after it was written. Restore it from a copy; no part of a database is
    /// opened in its place.
    #[error("{file} is damaged at byte {offset}: {reason}")]
    Corrupt {
        /// The file's name.
        file: String,
        /// Where in the file.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// A file was written by a newer release. Open it with that one.
    #[error("{file} has format {version}, newer than {supported}")]
    NewerFormat {
        /// The file's name.
        file: String,
        /// Its format.
        version: u32,
        /// The newest that can be read.
        supported: u32,
    },
    /// Another database has the folder open, in this process or another. Close that one, or choose
    /// another folder.
    #[error("{} is in use by another database", path.display())]
    FolderInUse {
        /// The folder.
        path: PathBuf,
    },
    /// The database was closed. Nothing was written; open it again. Reads go on.
    #[error("the database is closed")]
    Closed,
}

impl From<StorageFailure> for Error {
    fn from(failure: StorageFailure) -> Self {
        match failure.is_full() {
            true => Self::DiskFull(failure),
            false => Self::Storage(failure),
        }
    }
}
