use std::path::PathBuf;
use std::time::Duration;

use crate::storage::StorageFailure;
use crate::{LabelError, Labels};

/// The error of every call into the engine. Each variant says what the caller can do. The table in
/// `crates/ERRORS.md` of the repository lists all variants.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The labels or the matcher can't be built. Nothing was written; the inner error says what to
    /// correct.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// A series has more labels than the limit. Nothing was written; use fewer labels, or raise
    /// [`Limits::labels_per_series`](crate::Limits::labels_per_series).
    #[error("the series has {actual} labels, the limit is {max}")]
    TooManyLabels {
        /// The limit.
        max: usize,
        /// The number of labels given.
        actual: usize,
    },
    /// The labels lack a metric name. Nothing was written; add the label
    /// [`METRIC_NAME`](crate::METRIC_NAME).
    #[error("the labels {labels} have no metric name")]
    MissingMetric {
        /// The labels given.
        labels: Labels,
    },
    /// The write would begin a series beyond the limit. Nothing was written; delete series, let
    /// retention end them, or raise [`Limits::series`](crate::Limits::series).
    #[error("the limit of {max} series is reached")]
    TooManySeries {
        /// The limit.
        max: usize,
    },
    /// The write would begin more series in an interval than the limit. Nothing was written; try again
    /// after `retry_after`, or raise [`Limits::new_series`](crate::Limits::new_series).
    #[error("the limit of {max} new series in {interval:?} is reached")]
    TooManyNewSeries {
        /// The limit.
        max: usize,
        /// The interval.
        interval: Duration,
        /// The time until the next interval.
        retry_after: Duration,
    },
    /// The write needs memory beyond the limit. Nothing was written; delete samples or metadata,
    /// shorten retention, or raise [`Limits::bytes`](crate::Limits::bytes).
    #[error("{used} bytes are in use, the limit is {max}")]
    MemoryFull {
        /// The limit.
        max: usize,
        /// The bytes in use.
        used: usize,
    },
    /// The sample is older than the out-of-order window allows. Nothing was written; drop it, or
    /// widen [`DbOptions::out_of_order_window_ms`](crate::DbOptions::out_of_order_window_ms).
    #[error("timestamp {timestamp_ms} is older than {oldest_ms}, the oldest accepted")]
    OutOfOrder {
        /// The sample's timestamp.
        timestamp_ms: i64,
        /// The oldest timestamp that the series accepts now.
        oldest_ms: i64,
    },
    /// The sample is older than [`Retention::age_ms`](crate::Retention::age_ms). Nothing was
    /// written; drop it, or keep samples longer.
    #[error("timestamp {timestamp_ms} is older than {oldest_ms}, the oldest kept")]
    BeyondRetention {
        /// The sample's timestamp.
        timestamp_ms: i64,
        /// The oldest timestamp that retention keeps now.
        oldest_ms: i64,
    },
    /// The series already has a sample with this timestamp, and the policy is
    /// [`DuplicatePolicy::Reject`]. Nothing was written; drop the sample.
    ///
    /// [`DuplicatePolicy::Reject`]: crate::DuplicatePolicy::Reject
    #[error("a sample at {timestamp_ms} already exists")]
    DuplicateTimestamp {
        /// The sample's timestamp.
        timestamp_ms: i64,
    },
    /// Another sample of the same series in the same batch was refused, so no sample of the series
    /// was written. Correct or drop the refused one, and write again.
    #[error("not written because another sample of the series was refused")]
    Withheld,
    /// The disk is full. A write was not applied; other calls document their own effect. Free space,
    /// then try again: the log recovers by itself. Reads still work.
    #[error("the disk is full")]
    DiskFull(#[source] StorageFailure),
    /// A file could not be read or written. A write was not applied; other calls document their own
    /// effect. Fix the cause, then try again: the log recovers by itself. Reads still work.
    #[error("a file could not be read or written")]
    Storage(#[source] StorageFailure),
    /// The write was applied and reads show it, but it is not durable yet: a crash now would lose
    /// it. Don't repeat the write: the log keeps it, and retries until it is durable.
    #[error("written, but not durable yet")]
    NotDurable(#[source] StorageFailure),
    /// A file was damaged or removed after it was written. Restore the database from a backup, or keep
    /// what is intact with [`Db::repair_files`](crate::Db::repair_files).
    #[error("{file} is damaged at byte {offset}: {reason}")]
    Corrupt {
        /// The file's name.
        file: String,
        /// The offset of the damage, in bytes.
        offset: u64,
        /// The kind of damage.
        reason: &'static str,
    },
    /// A newer release wrote the file. Open the database with that release.
    #[error("{file} has format {version}, newer than {supported}")]
    FormatTooNew {
        /// The file's name.
        file: String,
        /// The version of its format.
        version: u32,
        /// The newest version that this release can read.
        supported: u32,
    },
    /// Another `Db` has the folder open, in this process or in another. Close it, or choose another
    /// folder.
    #[error("{} is in use by another database", path.display())]
    FolderInUse {
        /// The folder.
        path: PathBuf,
    },
    /// The database is closed. Nothing was written; open it again. Reads still work.
    #[error("the database is closed")]
    Closed,
}

impl Error {
    /// Whether the same call may succeed later, although neither the call nor the program changes: the
    /// disk was full, a file could not be read or written, or too many series began in an interval.
    /// [`Error::NotDurable`] is not transient: the write was applied, and the log itself retries.
    /// Neither are [`Error::TooManySeries`] and [`Error::MemoryFull`]: without retention, the database
    /// stays at its limit until someone deletes samples or raises it.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::DiskFull(_) | Self::Storage(_) | Self::TooManyNewSeries { .. }
        )
    }
}

impl From<StorageFailure> for Error {
    fn from(failure: StorageFailure) -> Self {
        match failure.is_full() {
            true => Self::DiskFull(failure),
            false => Self::Storage(failure),
        }
    }
}
