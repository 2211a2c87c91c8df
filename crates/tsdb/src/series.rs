use std::fmt;
use std::sync::Arc;

use crate::db::Db;
use crate::series_cell::SeriesCell;
use crate::{Error, Labels, Sample};

/// A write handle to one series. This is the cheapest way to write: it usually needs no lookup, and
/// no lock that other series share, except the brief one of a log buffer.
///
/// A series ends when its last sample is deleted or outlives retention. The next write through the
/// handle begins it again. Clones are cheap, so give each thread its own.
#[derive(Clone)]
pub struct Series {
    db: Db,
    labels: Labels,
    /// Set by the first write. The series may have ended since.
    cell: Option<Arc<SeriesCell>>,
}

impl Series {
    pub(crate) fn new(db: Db, labels: Labels) -> Self {
        Self {
            db,
            labels,
            cell: None,
        }
    }

    /// Returns the labels of the series.
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let series = db.series(&Labels::new("cpu_load", [("host", "web-1")])?)?;
    /// assert_eq!(series.labels().get("host"), Some("web-1"));
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Writes one sample.
    ///
    /// # Errors
    /// - [`Error::OutOfOrder`], [`Error::BeyondRetention`] or [`Error::DuplicateTimestamp`] if the
    ///   options refuse the sample.
    /// - [`Error::MemoryFull`] at [`Limits::bytes`](crate::Limits::bytes), and
    ///   [`Error::TooManySeries`] if the write would begin a series beyond
    ///   [`Limits::series`](crate::Limits::series).
    /// - For a database with files: [`Error::DiskFull`], [`Error::Storage`], [`Error::NotDurable`]
    ///   or [`Error::Closed`].
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let mut load = db.series(&Labels::new("cpu_load", [("host", "web-1")])?)?;
    /// load.append(Sample::new(1_700_000_000_000, 0.42))?;
    /// load.append(Sample::new(1_700_000_015_000, 0.45))?;
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn append(&mut self, sample: Sample) -> Result<(), Error> {
        self.append_batch(std::slice::from_ref(&sample))
    }

    /// Writes either all of the samples or none.
    ///
    /// # Errors
    /// If the options refuse samples, the error of the first refused sample: [`Error::OutOfOrder`],
    /// [`Error::BeyondRetention`] or [`Error::DuplicateTimestamp`]. Otherwise
    /// [`Error::MemoryFull`], [`Error::TooManySeries`], [`Error::DiskFull`], [`Error::Storage`],
    /// [`Error::NotDurable`] or [`Error::Closed`], as in [`Series::append`].
    ///
    /// ```
    /// use tsdb::{Db, DbOptions, Labels, Sample};
    ///
    /// # let db = Db::new(DbOptions::default());
    /// let mut requests = db.series(&Labels::new("requests_total", [("host", "web-1")])?)?;
    /// requests.append_batch(&[Sample::new(0, 10.0), Sample::new(15_000, 14.0)])?;
    /// assert_eq!(db.series_count(), 1);
    /// # Ok::<(), tsdb::Error>(())
    /// ```
    pub fn append_batch(&mut self, samples: &[Sample]) -> Result<(), Error> {
        self.db
            .append_with_handle(&mut self.cell, &self.labels, samples)
    }
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Series").field(&self.labels).finish()
    }
}
