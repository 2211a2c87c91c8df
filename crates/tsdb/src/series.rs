use std::fmt;
use std::sync::Arc;

use crate::db::Db;
use crate::series_cell::SeriesCell;
use crate::{Error, Labels, Sample};

/// A writer's handle to one series: the cheapest write, as nothing is looked up, and nobody is waited
/// for but who writes or reads the same series.
///
/// A series that has ended (its samples were deleted or outlived retention) begins again with the
/// next write. Each writer has a handle of its own: clones are cheap.
#[derive(Clone)]
pub struct Series {
    db: Db,
    labels: Labels,
    /// Where the samples are, once the handle has written; the series may have ended since.
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

    /// The labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Writes one sample.
    ///
    /// # Errors
    /// [`Error::OutOfOrder`], [`Error::BeyondRetention`] or [`Error::DuplicateTimestamp`] as the
    /// options say, [`Error::MemoryFull`], [`Error::TooManySeries`] where the series begins, and those
    /// of the log, if there is one: [`Error::DiskFull`], [`Error::Storage`], [`Error::NotDurable`] or
    /// [`Error::Closed`].
    pub fn append(&mut self, sample: Sample) -> Result<(), Error> {
        self.append_batch(std::slice::from_ref(&sample))
    }

    /// Writes samples, all or none.
    ///
    /// # Errors
    /// The first sample's that is refused; see [`Series::append`].
    pub fn append_batch(&mut self, samples: &[Sample]) -> Result<(), Error> {
        self.db.append_at(&mut self.cell, &self.labels, samples)
    }
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Series").field(&self.labels).finish()
    }
}
